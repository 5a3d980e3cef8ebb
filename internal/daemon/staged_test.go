package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/observe"
	"custos/internal/onewriter"
	"custos/internal/server"
)

// Staged is a whole Custos that sees what a test says, with a ledger of its own. Only its
// probes are not real.
type Staged struct {
	T testing.TB
	s *system
}

// NewStaged puts one together by a custos.toml.
func NewStaged(t testing.TB, toml string) *Staged {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, ".config/custos/custos.toml")
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(toml), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Getenv: func(k string) string { return map[string]string{"HOME": dir}[k] }, Sections: Sections()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := build(cfg, Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, as{what: "custos test", wait: onewriter.Patience, tell: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return &Staged{t, s}
}

// Close ends it.
func (g *Staged) Close() { _ = g.s.Close() }

// Home is where its configuration and its ledger lie.
func (g *Staged) Home() string { return filepath.Dir(filepath.Dir(filepath.Dir(g.s.cfg.File))) }

// Scene is what there is to be seen of a part, and how well.
type Scene struct {
	Put    observe.Put // nil: nothing
	Err    error       // of the look
	Unsure bool        // it is touched after the pass, and not looked at again
}

// staged is a probe that sees a scene.
type staged struct {
	part  fleet.PartName
	scene Scene
}

func (p staged) Spec() observe.Spec {
	return observe.Spec{Name: "staged " + string(p.part), Part: p.part, Every: time.Hour}
}

func (p staged) Look(context.Context) (observe.Put, error) { return p.scene.Put, p.scene.Err }

// Play has it see scenes, parts without one being there and empty, and makes a whole patrol
// of them that is written down.
func (g *Staged) Play(scenes map[fleet.PartName]Scene) {
	g.T.Helper()
	s := g.s
	var probes []observe.Probe
	var unsure []fleet.PartName
	for _, part := range fleet.PartNames() {
		scene, ok := scenes[part]
		if !ok {
			scene.Put = func(*fleet.Snapshot) {}
		}
		if scene.Unsure {
			unsure = append(unsure, part)
		}
		probes = append(probes, staged{part, scene})
	}
	s.board = observe.New(observe.Options{Probes: probes, Now: s.world.Now, From: s.world.From})
	s.loop = loop.New(loop.Options{Board: s.board, Rules: s.rules, Policy: s.policy, Due: s.due, Holds: s.holds, History: s.ledger, Act: s.actor,
		Journal: s.report, Touches: s.touches, Every: s.cfg.PatrolEvery, IdleMax: s.cfg.PatrolIdle, Tick: tick, Log: s.o.Log})
	ctx := g.T.Context()
	if err := s.begin(ctx); err != nil {
		g.T.Fatal(err)
	}
	if _, err := s.loop.Patrol(ctx, fleet.PatrolOrder{}); err != nil {
		g.T.Fatal(err)
	}
	s.board.Touched(unsure...)
}

// Handler is its API. A look waits for no part: what is not seen by now is pending.
func (g *Staged) Handler() http.Handler {
	s := g.s
	c := s.control(true)
	look := c.Look
	c.Look = func(ctx context.Context, _ time.Duration) (fleet.Pass, error) { return look(ctx, 0) }
	return server.New(server.Options{Cycle: cycle{s}, Explainer: reader{s.world.Kinds, s.world.KindsAside}, HookFiles: hookFiles{s},
		Now: s.world.Now, InProcess: true, Log: s.o.Log, Changes: s.changes, Control: c})
}

// Writes writes records down.
func (g *Staged) Writes(c fleet.Changes) {
	g.T.Helper()
	st, err := g.s.ledger.writer(g.T.Context())
	if err == nil {
		err = st.Commit(g.T.Context(), c.Plan(g.s.world.Now()).Turn())
	}
	if err != nil {
		g.T.Fatal(err)
	}
}

// Mails writes a mail down, and returns it with its ID.
func (g *Staged) Mails(m fleet.Mail, by string) fleet.Mail {
	g.T.Helper()
	st, err := g.s.ledger.writer(g.T.Context())
	if err != nil {
		g.T.Fatal(err)
	}
	now := g.s.world.Now()
	all, err := st.EditRecords(g.T.Context(), now, func(all fleet.Records) (out fleet.Records, err error) {
		m, err := ledger.SendMail(all, ledger.AddressesOf(nil), m, by, now)
		return fleet.Records{Mails: []fleet.Mail{m}}, err
	})
	if err != nil {
		g.T.Fatal(err)
	}
	return all.Mails[0]
}

// Uses writes down what models were used.
func (g *Staged) Uses(list []fleet.Usage) {
	g.T.Helper()
	st, err := g.s.ledger.writer(g.T.Context())
	if err == nil {
		err = st.AddUsage(g.T.Context(), list, nil)
	}
	if err != nil {
		g.T.Fatal(err)
	}
}
