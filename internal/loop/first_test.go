package loop_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
)

// slowly is a probe of repositories whose every look takes so long.
func slowly(d time.Duration) *observetest.Fake {
	return after(d, fleet.PartRepos, func(s *fleet.Snapshot) { s.Repos.Value.Repos = []fleet.Repo{{Path: "/huge"}} }, nil)
}

// after is a probe of a part whose every look ends so with this, or fails.
func after(d time.Duration, part fleet.PartName, put observe.Put, fails error) *observetest.Fake {
	return &observetest.Fake{Of: observe.Spec{Name: string(part), Part: part, Every: time.Minute, Deadline: time.Minute},
		Do: func(ctx context.Context) (observe.Put, error) {
			select {
			case <-time.After(d): // fake
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if fails != nil {
				return nil, fails
			}
			return put, nil
		}}
}

// TestAFirstLookThatTakesLongDelaysNoOtherAlert: what else was seen is judged and
// mended meanwhile; what the slow look brings is judged as soon as it ends.
func TestAFirstLookThatTakesLongDelaysNoOtherAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.dead = true
		locks := &observetest.Fake{Of: observe.Spec{Name: "locks", Part: fleet.PartLocks, Every: 30 * time.Second},
			Do: func(context.Context) (observe.Put, error) {
				found := w.Snapshot().Locks.Value
				return func(s *fleet.Snapshot) { s.Locks.Value = found }, nil
			}}
		const slow = 48 * time.Second
		board := observe.New(observe.Options{Probes: []observe.Probe{locks, slowly(slow)}, Now: w.now})
		w.loop = loop.New(loop.Options{Board: board, Rules: w.rules, Policy: w.policy, History: w, Act: w, Journal: w,
			Touches: func(string) []fleet.PartName { return []fleet.PartName{fleet.PartLocks} },
			Seen: func(s fleet.Snapshot) {
				if after := time.Since(w.begun); s.Repos.Usable() != (after >= slow) {
					t.Errorf("after %s the repositories are %s", after, s.Repos.Status)
				}
			},
			Every: 10 * time.Hour, Tick: 10 * time.Hour, Log: slog.New(slog.DiscardHandler)})
		w.hours(t, slow+10*time.Second)
		if len(w.acts) != 1 || w.acts[0].PlannedAt.Wall.Sub(w.begun) > 10*time.Second {
			t.Errorf("the dead lock was dealt with by %+v, want within ten seconds", w.acts)
		}
		if last := w.turns[len(w.turns)-1].At.Wall.Sub(w.begun); last != slow {
			t.Errorf("the last pass came after %s, want at the end of the slow look", last)
		}
	})
}

// TestAPersonsOrderWaitsForNoFirstLookButItsOwn: while another part is looked at for the
// first time, and takes long, what somebody waits for is judged by what it rests on. A
// Custos of one command carries runs on meanwhile.
func TestAPersonsOrderWaitsForNoFirstLookButItsOwn(t *testing.T) {
	const slow, least = 48 * time.Second, 2 * time.Second
	for name, do := range map[string]func(context.Context, *loop.Loop) error{
		"an order": func(ctx context.Context, l *loop.Loop) error { return l.Pass(ctx, "order o1", fleet.PartAgents) },
		"a run that goes on": func(ctx context.Context, l *loop.Loop) error {
			ctx, stop := context.WithTimeout(ctx, 20*time.Second)
			defer stop()
			l.Attend(ctx)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newMachine(t)
				agents := &observetest.Fake{Of: observe.Spec{Name: "agents", Part: fleet.PartAgents, Every: time.Minute, Deadline: time.Minute},
					Do: func(context.Context) (observe.Put, error) {
						time.Sleep(least) // fake
						return func(s *fleet.Snapshot) {}, nil
					}}
				board := observe.New(observe.Options{Probes: []observe.Probe{agents, slowly(slow)}, Now: w.now})
				seen := time.Duration(-1)
				l := loop.New(loop.Options{Board: board, Rules: w.rules, Policy: w.policy, History: w, Act: w, Journal: w,
					Touches: func(string) []fleet.PartName { return nil }, Every: 10 * time.Hour, Tick: 10 * time.Hour, Log: slog.New(slog.DiscardHandler),
					Seen: func(s fleet.Snapshot) {
						if seen < 0 && s.Agents.Usable() {
							seen = time.Since(w.begun)
						}
					}})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go board.Run(ctx)
				if err := do(ctx, l); err != nil {
					t.Error(err)
				}
				if seen < least || seen > 11*time.Second {
					t.Errorf("it was judged by how the agents are after %s, want after %s to 11 s", seen, least)
				}
				stop()
				synctest.Wait()
			})
		})
	}
}
