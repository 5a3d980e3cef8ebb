package cli

import (
	"strings"
	"testing"

	"custos/internal/api"
)

// What a choice says means it, where no other one is called so or says the same.
func TestAChoiceIsMeantByItsNameOrWhatItSays(t *testing.T) {
	colours := []api.AgentChoice{{Name: "1", Label: "Red"}, {Name: "2", Label: "Blue"}, {Name: "3", Label: "1"}, {Name: "4", Label: "Other"}, {Name: "5", Label: "other"}}
	for word, want := range map[string]string{"2": "2", "Blue": "2", "blue": "2", "1": "1", "": "", "Bl": "", "Other": ""} {
		name, err := choiceOf(colours, word)
		if name != want || (err == nil) != (want != "") {
			t.Errorf("%q means %q, %v; want %q", word, name, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "the choices are 1 Red, 2 Blue, 3 1, 4 Other, 5 other") {
			t.Errorf("%q: %v", word, err)
		}
	}
}
