package daemon

import (
	"context"
	"os"
	"time"

	"custos/internal/api"
	"custos/internal/catalog"
	"custos/internal/config"
	"custos/internal/control"
	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/observe/installation"
	"custos/internal/rules"
	"custos/internal/server"
)

// DoctorOf examines what can be examined when the configuration cannot be used:
// broken says what is wrong with it. Most checks then say that they cannot tell.
func DoctorOf(ctx context.Context, version string, broken error, categories []string) (api.Doctor, error) {
	if err := doctor.CheckCategories(categories); err != nil {
		return api.Doctor{}, err
	}
	set, err := parseRules(config.Config{}, string(rules.Builtin()))
	if err != nil {
		return api.Doctor{}, err
	}
	e := doctor.Examination{At: fleet.Instant{Wall: time.Now()}, Version: version, Asker: version, Rules: rulebook{set}.Rules(), Installation: installation.Without(ctx, os.Getenv)}
	e.Installation.Config.Err = broken.Error()
	out, _ := doctor.Diagnose(e, categories)
	return out, nil
}

// examine finds out what the installation is like.
func (s *system) examine(ctx context.Context, asked func(category string) bool) doctor.Installation {
	i := s.installation().Look(ctx, asked)
	if !s.daemon {
		i.Mute, i.NotKnown = Runs(s.cfg), Untold(s.cfg)
	}
	return i
}

// installation is where the things of Custos are.
func (s *system) installation() installation.Options {
	own := s.world.Own
	accounts, _ := catalog.Accounts(s.cfg, s.world.Kinds) // what is wrong with them was said when it was read
	o := installation.Options{Config: s.cfg, Sections: Sections(), Trouble: s.fileTrouble, Aside: s.kindTrouble(), Getenv: s.world.Getenv, Kinds: s.world.Kinds, Accounts: accounts, StartedAt: s.world.StartedAt,
		Database: storeFile(s.cfg), Socket: Socket(s.cfg), Tmux: own.Socket, Shims: own.Shims, Hook: own.Hook,
		Chats: s.chats, Logs: func() []fleet.Log { return s.board.Snapshot().Logs.Value }}
	if at := s.hooked.Address; at != "" {
		o.Listeners = append(o.Listeners, doctor.Listener{What: "signed webhooks", Address: at, Loopback: server.Loopback(at), Guard: "neither bodies nor the token of a GitLab are encrypted: put a proxy before it"})
	}
	if at := s.gauges.listen; at.Address != "" {
		l := doctor.Listener{What: "metrics", Address: at.Address, Loopback: server.Loopback(at.Address)}
		if at.Token != nil {
			l.Guard = "a token guards them"
		}
		o.Listeners = append(o.Listeners, l)
	}
	if at := s.published.Socket; at != "" {
		o.Listeners = append(o.Listeners, doctor.Listener{What: "what is published", Address: at, Loopback: true, Guard: "a token guards it"})
	}
	if at := s.served.Listen; at != "" {
		_, trouble := s.page.Where()
		o.Listeners = append(o.Listeners, doctor.Listener{What: "the page", Address: at, Loopback: server.Loopback(at), Guard: "sessions, by TLS of its own or a proxy's, guard it", Trouble: trouble})
	}
	return o
}

// anewFor is how long a diagnosis waits for new looks.
const anewFor = 20 * time.Second

// anew looks again at what is near: repositories, forges and containers take longer
// than a person who asks for a diagnosis waits.
func (s *system) anew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, anewFor)
	defer cancel()
	s.board.Anew(ctx, fleet.PartHost, fleet.PartSelf, fleet.PartProcesses, fleet.PartSessions, fleet.PartAgents, fleet.PartLocks, fleet.PartLogs)
}

var _ control.Mender = cycle{}

// Mending is thought of what was seen, and by the policy of the pass.
func (cycle) Mending(p fleet.Pass, of []fleet.AlertKey) fleet.Plan { return loop.Mending(p, of) }

// Mend has it done, of what is seen once more. While frozen it does not even open the
// ledger to write.
func (c cycle) Mend(ctx context.Context, by string, of []fleet.AlertKey, meant func(fleet.Action) bool) (fleet.Pass, error) {
	if why := Frozen(c.s.cfg); why != "" {
		return fleet.Pass{}, &api.Error{Kind: api.BadInput, Message: "cannot mend: frozen: " + why, Hint: "custos thaw"}
	}
	if err := c.s.begin(ctx); err != nil {
		return fleet.Pass{}, err
	}
	var parts []fleet.PartName
	for _, k := range of {
		parts = append(parts, fleet.PartOf(k.Subject.Kind))
	}
	c.s.board.Touched(parts...)
	return c.s.loop.Mend(ctx, fleet.PatrolOrder{Apply: true, By: by}, of, meant)
}
