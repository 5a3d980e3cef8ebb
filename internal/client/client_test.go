package client_test

import (
	"context"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/client"
)

func asking(environ string, terminal bool) *api.Client {
	getenv := func(name string) string {
		if value, ok := strings.CutPrefix(environ, name+"="); ok {
			return value
		}
		return ""
	}
	return api.NewClient(api.InProcess(client.Handler(client.Process{Getenv: getenv, Terminal: terminal})))
}

// Who asks is a person only where a terminal shows it and nothing tells of an agent.
func TestCaller(t *testing.T) {
	for _, c := range []struct {
		environ  string
		terminal bool
		person   bool
	}{
		{"HOME=/home/me", true, true},
		{"HOME=/home/me", false, false},
		{"CUSTOS_AGENT=ann:i1", true, false},
		{"CLAUDECODE=1", true, false},
		{"GEMINI_CLI=1", false, false},
	} {
		who, err := asking(c.environ, c.terminal).Caller(context.Background())
		if err != nil || who.Person != c.person || who.Agent != "" || (who.Why == "") != c.person {
			t.Errorf("%+v: %+v, %v", c, who, err)
		}
	}
}

// What is asked of this machine is unknown or refused, and nothing of it is done.
func TestNothingIsKnown(t *testing.T) {
	c, ctx := asking("", true), context.Background()
	if v, err := c.Agents(ctx); err != nil || v.Seen.Status != "unknown" || v.Seen.Why != client.Why || v.Agents == nil {
		t.Errorf("agents: %+v, %v", v, err)
	}
	if v, err := c.Alerts(ctx, true); err != nil || v.Unseen != client.Why {
		t.Errorf("alerts: %+v, %v", v, err)
	}
	_, look := c.FirstLook(ctx)
	_, status := c.Status(ctx)
	_, order := c.Order(ctx, api.OrderRequest{Do: "stop", Agent: "ann"})
	_, hook := c.Freeze(ctx, "why")
	for what, err := range map[string]error{"a look": look, "the status": status, "an order": order, "the brake": hook} {
		if e := api.ErrorOf(err); e.Kind != api.CannotLook || e.Message != client.Error().Error() {
			t.Errorf("%s: %v", what, err)
		}
	}
}
