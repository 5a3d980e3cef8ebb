package view

import (
	"testing"

	"custos/internal/fleet"
)

// What came of a call that a policy denied stands before its arguments, which may be cut off.
func TestADeniedCallIsSaidFirst(t *testing.T) {
	e := fleet.HookEvent{Event: fleet.HookToolBegin, Tool: "Bash", Args: "command=rm -rf ~"}
	if got := hookText(e); got != "Bash command=rm -rf ~" {
		t.Errorf("a call: %q", got)
	}
	e.Deny("delete-root")
	if got := hookText(e); got != "Bash denied by delete-root command=rm -rf ~" || !hookEntries([]fleet.HookEvent{e}, nil)[0].Bad {
		t.Errorf("one that was denied: %q", got)
	}
}
