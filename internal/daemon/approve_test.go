package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/daemon"
)

// TestApproveOne: what one alert asks for is done, and nothing else; not twice, and
// not while everything is frozen.
func TestApproveOne(t *testing.T) {
	dir, cfg := scratch(t)
	gardener, other := filepath.Join(dir, "locks/gardener-poll.lock"), filepath.Join(dir, "locks/reused-run.lock")
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		if _, err := c.Patrol(ctx, api.PatrolOrder{}); err != nil {
			t.Fatal(err)
		}
	})
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		number := alertOf(ctx, t, c, "lock/"+gardener)
		if err := daemon.Freeze(cfg, "ann", "first"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Approve(ctx, number, api.ApproveOrder{By: "ann"}); err == nil || !strings.Contains(err.Error(), "frozen") {
			t.Errorf("approved while frozen: %v", err)
		}
		if _, err := daemon.Thaw(cfg); err != nil {
			t.Fatal(err)
		}
		got, err := c.Approve(ctx, number, api.ApproveOrder{By: "ann"})
		if err != nil || got.By != "ann" || len(got.Actions) != 1 || got.Actions[0].Do != "remove-lock" {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, err := os.Lstat(gardener); !os.IsNotExist(err) {
			t.Errorf("what was approved is not done: %v", err)
		}
		if _, err := os.Lstat(other); err != nil {
			t.Errorf("what was not approved is done: %v", err)
		}
		if _, err := c.Approve(ctx, number, api.ApproveOrder{}); err == nil {
			t.Error("approved a second time")
		}
	})
}

func alertOf(ctx context.Context, t *testing.T, c *api.Client, subject string) int64 {
	t.Helper()
	list, err := c.Alerts(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list.Alerts {
		if a.Subject == subject {
			return a.Number
		}
	}
	t.Fatalf("no alert about %s: %+v", subject, list)
	return 0
}
