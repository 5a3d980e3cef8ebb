package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"custos/internal/api"
)

// tools are all that an agent is offered.
func tools(s *sdk.Server, ask Ask) {
	tool(s, ask, "heartbeat", "Say that you are at work, in a long silent task.", beat)
	tool(s, ask, "step", "Say that a step of your run is done, or failed.", step)
	tool(s, ask, "inbox", "Mail for you.", inbox)
	tool(s, ask, "send_mail", "Send mail, or answer one.", sendMail)
	tool(s, ask, "close_mail", "Put a mail away once you acted on it.", closeMail)
	tool(s, ask, "work", "List work: yours, or what is ready to be taken.", listWork)
	tool(s, ask, "change_work", "Take work, release, close or reopen it.", changeWork)
	tool(s, ask, "wait_for", "Open a gate: you get mail when it closes.", waitFor)
	tool(s, ask, "handoff", "Hand over to a fresh agent in your place.", handOff)
	tool(s, ask, "cost_left", "What you used, and what is left of your budgets.", costLeft)
	tool(s, ask, "who", "Who else is here, and at what.", who)
}

type nothing struct{}

func beat(ctx context.Context, c *api.Client, _ nothing) (string, error) {
	b, err := c.Beat(ctx)
	return "Noted: " + b.Agent + " is at work.", err
}

func costLeft(ctx context.Context, c *api.Client, _ nothing) (string, error) {
	l, err := c.SpendLeft(ctx, "")
	return strings.Join(l.Says, "\n"), err
}

type stepDone struct {
	Run    string `json:"run" jsonschema:"the run's ID"`
	Step   string `json:"step" jsonschema:"the step's name"`
	Failed bool   `json:"failed,omitempty" jsonschema:"true when it failed"`
	Note   string `json:"note,omitempty" jsonschema:"what came of it"`
}

func step(ctx context.Context, c *api.Client, in stepDone) (string, error) {
	do := "done"
	if in.Failed {
		do = "fail"
	}
	r, err := c.ChangeRun(ctx, in.Run, api.RunChange{Do: do, Step: in.Step, Note: in.Note})
	return fmt.Sprintf("Noted: step %s of run %s. The run is %s.", in.Step, in.Run, r.State), err
}

type handover struct {
	Text string `json:"text" jsonschema:"task, what is done, what is not, what to do next"`
}

func handOff(ctx context.Context, c *api.Client, in handover) (string, error) {
	h, err := c.HandOver(ctx, api.HandoffRequest{Text: in.Text})
	if h.Replaced {
		return "Taken: a fresh agent takes your place when your turn is over. End it now.", err
	}
	return "Kept with your work. You are not replaced.", err
}
