package act

import (
	"context"
	"errors"
	"testing"

	"custos/internal/fleet"
)

// starter is an action whose run learns of its agent while it goes on.
type starter struct{ fake }

func (s *starter) Prepare(ctx context.Context, a fleet.Action) (Run, error) {
	run, err := s.fake.Prepare(ctx, a)
	if err != nil {
		return nil, err
	}
	return &startRun{Run: run}, nil
}

type startRun struct {
	Run
	tell func(fleet.Registration)
}

func (r *startRun) Foretell(tell func(fleet.Registration)) { r.tell = tell }
func (r *startRun) Do(ctx context.Context) error {
	r.tell(fleet.Registration{Name: "x", Instance: "i2"})
	return r.Run.Do(ctx)
}

// What a run learns is written down while it goes on, after its beginning and
// before it is verified; that it could not be is no failure of the action.
func TestForetold(t *testing.T) {
	for name, fails := range map[string]error{"it is written": nil, "it cannot be written": errors.New("the disk is full")} {
		f, m := &starter{fake{able: able(true)}}, &memory{}
		var got []string
		f.verify = func(context.Context, fleet.Action) (string, error) {
			if len(got) != 1 || !m.did("start a1") || m.did("finish a1") {
				t.Errorf("%s: told of %v when it is verified", name, got)
			}
			return "it runs", nil
		}
		a := New(Options{Actions: []Action{f}, Ledger: m, Now: now, Learned: func(_ context.Context, id string, r fleet.Registration) error {
			got = append(got, id+" "+r.Instance)
			return fails
		}})
		if err := a.Start(t.Context(), turn(deed("a1", "x"))); err != nil {
			t.Fatal(err)
		}
		if err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.Close()
		if r := m.result("a1"); r.Status != fleet.ResultDone || len(got) != 1 || got[0] != "a1 i2" {
			t.Errorf("%s: %v, %+v", name, got, r)
		}
	}
}
