package catalog

import (
	"custos/internal/config"
	"custos/internal/fleet"
)

// limits is the section [limits] of custos.toml: what holds back what is done
// to agents. The defaults are those of fleet.DefaultAgentLimits.
type limits struct {
	SpawnMemory string `toml:"spawn_memory" is:"size"`              // that must be available for a start; "2000MiB"
	MaxAgents   *int   `toml:"max_agents" is:"0..1000"`             // of ours that run at once; 50
	MaxDepth    *int   `toml:"max_depth" is:"0..100"`               // of the tree of parents; 3
	Stagger     string `toml:"stagger" is:"duration"`               // between two starts; "2s"
	Settle      string `toml:"settle" is:"duration"`                // after a death, before it is recovered; "3s"
	Typing      string `toml:"typing" is:"duration"`                // since a person may have typed; "1m"
	Deaths      string `toml:"deaths" is:"times"`                   // so many so close together have one cause; "3 in 30s"
	Hold        string `toml:"hold" is:"duration"`                  // after the last of them, before any recovery
	Probe       string `toml:"probe" is:"duration"`                 // between two tries that do not help
	Jitter      string `toml:"jitter" is:"duration"`                // after the reset of a rate limit
	NudgeTTL    string `toml:"nudge_ttl" is:"duration"`             // of a nudge or an answer
	OrderTTL    string `toml:"order_ttl" is:"duration"`             // of any other order
	Orders      string `toml:"orders" is:"times"`                   // how often an order is tried; "3 in 10m"
	Cooldown    string `toml:"cooldown" is:"duration"`              // between two tries of an order
	AfterReboot string `toml:"after_reboot" is:"|observe|ask|auto"` // what becomes of agents that ran: observe, ask (default) or auto
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
			return out, cfg.Misread("limits."+f.key, err)
		}
	}
	if s.AfterReboot != "" {
		mode, err := fleet.ParseMode(s.AfterReboot)
		if err != nil {
			return out, cfg.Misread("limits.after_reboot", err)
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
		d, err := fleet.ParseDuration(text)
		if err != nil {
			return err
		}
		*into = fleet.Duration(d)
	case *fleet.Attempts:
		b, err := config.ParseBudget(text)
		if err != nil {
			return err
		}
		*into = fleet.Attempts{Max: b.Max, In: fleet.Duration(b.In)}
	case *int64:
		n, err := fleet.ParseSize(text)
		if err != nil {
			return err
		}
		*into = n
	}
	return nil
}
