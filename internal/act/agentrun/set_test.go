package agentrun

import "testing"

// What may be given to an agent as a value: never a secret, nor what decides how
// programs are found and run.
func TestCheckSet(t *testing.T) {
	for set, ok := range map[string]bool{
		"PHASE_FILE=/x/phase": true, "FORGE_API=https://f/api": true, "A1=": true, "PRIMARY_BRANCH=a=b": true,
		"": false, "=x": false, "lower=x": false, "1A=x": false, "A B=x": false, "NOVALUE": false, "FORGE_TOKEN=x": false, "MY_SECRET_X=x": false, "OPENAI_API_KEY=x": false,
		"PATH=/evil": false, "HOME=/": false, "LD_PRELOAD=/x.so": false, "CUSTOS_AGENT=other:1": false, "TMUX=x": false, "A=x\x00y": false,
	} {
		if err := checkSet([]string{set}); (err == nil) != ok {
			t.Errorf("%q: %v", set, err)
		}
	}
}
