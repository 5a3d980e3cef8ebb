package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
)

// limits is the section [limits] of custos.toml: what holds back what is done
// to agents. The defaults are those of fleet.DefaultAgentLimits.
type limits struct {
	SpawnMemory string `toml:"spawn_memory"` // that must be available for a start; "2000MiB"
	MaxAgents   *int   `toml:"max_agents"`   // of ours that run at once; 50
	MaxDepth    *int   `toml:"max_depth"`    // of the tree of parents; 3
	Stagger     string `toml:"stagger"`      // between two starts; "2s"
	Settle      string `toml:"settle"`       // after a death, before it is recovered; "3s"
	Typing      string `toml:"typing"`       // since a person may have typed; "1m"
	Deaths      string `toml:"deaths"`       // so many so close together have one cause; "3 in 30s"
	Hold        string `toml:"hold"`         // after the last of them, before any recovery
	Probe       string `toml:"probe"`        // between two tries that do not help
	Jitter      string `toml:"jitter"`       // after the reset of a rate limit
	NudgeTTL    string `toml:"nudge_ttl"`    // of a nudge or an answer
	OrderTTL    string `toml:"order_ttl"`    // of any other order
	Orders      string `toml:"orders"`       // how often an order is tried; "3 in 10m"
	Cooldown    string `toml:"cooldown"`     // between two tries of an order
	AfterReboot string `toml:"after_reboot"` // what becomes of agents that ran: observe, ask (default) or auto
}

// Limits reads the section.
func Limits(cfg config.Config) (fleet.AgentLimits, error) {
	out, s := fleet.DefaultAgentLimits(), limits{}
	if err := cfg.Section("limits", &s); err != nil {
		return out, err
	}
	for _, f := range []struct {
		key, text string
		into      any
	}{
		{"spawn_memory", s.SpawnMemory, &out.SpawnMemory}, {"stagger", s.Stagger, &out.Stagger}, {"settle", s.Settle, &out.Settle},
		{"typing", s.Typing, &out.Typing}, {"deaths", s.Deaths, &out.Deaths}, {"hold", s.Hold, &out.Hold}, {"probe", s.Probe, &out.Probe},
		{"jitter", s.Jitter, &out.Jitter}, {"nudge_ttl", s.NudgeTTL, &out.NudgeTTL}, {"order_ttl", s.OrderTTL, &out.OrderTTL},
		{"orders", s.Orders, &out.Orders.Attempts}, {"cooldown", s.Cooldown, &out.Orders.Cooldown},
	} {
		if f.text == "" {
			continue
		}
		if err := limit(f.text, f.into); err != nil {
			return out, fmt.Errorf("cannot read %s: [limits] %s: %w", cfg.File, f.key, err)
		}
	}
	if s.AfterReboot != "" {
		mode, err := fleet.ParseMode(s.AfterReboot)
		if err != nil {
			return out, fmt.Errorf("cannot read %s: [limits] after_reboot: %w", cfg.File, err)
		}
		out.AfterReboot = mode
	}
	if s.MaxAgents != nil {
		out.MaxAgents = *s.MaxAgents
	}
	if s.MaxDepth != nil {
		out.MaxDepth = *s.MaxDepth
	}
	return out, nil
}

func limit(text string, into any) error {
	switch into := into.(type) {
	case *fleet.Duration:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return fmt.Errorf("%q is no duration such as %s", text, *into)
		}
		*into = fleet.Duration(d)
	case *fleet.Attempts:
		b, err := config.ParseBudget(text)
		if err != nil {
			return err
		}
		*into = fleet.Attempts{Max: b.Max, In: fleet.Duration(b.In)}
	case *int64:
		n, err := bytesOf(text)
		if err != nil {
			return err
		}
		*into = n
	}
	return nil
}

// bytesOf reads "2000MiB", "4GiB", "512KiB" or a plain number of bytes.
func bytesOf(text string) (int64, error) {
	for unit, shift := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
			if err != nil || n < 0 {
				return 0, fmt.Errorf("%q is no size such as 2000MiB", text)
			}
			return n << shift, nil
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no size such as 2000MiB", text)
	}
	return n, nil
}
