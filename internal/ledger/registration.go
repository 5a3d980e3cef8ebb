package ledger

import (
	"fmt"
	"time"

	"custos/internal/fleet"
)

// Bounds are what a new registration is checked against.
type Bounds struct {
	MaxDepth int
	Known    func(kind string) bool // nil: any kind but none
}

// Register returns r as it is first written down, among all others: its name
// free and sound, its parent there, its depth one more than the parent's. What
// is wanted of it is that it runs, unless r says something else; by and at say
// who wants it and when.
func Register(all []fleet.Registration, r fleet.Registration, b Bounds, by string, at fleet.Instant) (fleet.Registration, error) {
	fail := func(err error) (fleet.Registration, error) {
		return fleet.Registration{}, fmt.Errorf("cannot register %s: %w", shown(r.Name), err)
	}
	if err := CheckNewName(r.Name); err != nil {
		return fail(err)
	}
	if r.Kind == "" || b.Known != nil && !b.Known(r.Kind) {
		return fail(fmt.Errorf("%w: there is no kind %q", ErrIllegal, r.Kind))
	}
	if r.Owner != fleet.OwnerCustos && r.Owner != fleet.OwnerAdopted {
		return fail(fmt.Errorf("%w: its owner is %q, neither custos nor adopted", ErrIllegal, r.Owner))
	}
	if Registration(all, r.Name) != nil {
		return fail(fmt.Errorf("the name is %w", ErrTaken))
	}
	depth, err := depthOf(all, r, b.MaxDepth)
	if err != nil {
		return fail(err)
	}
	r = WithDefaults(r, by, at)
	r.Depth, r.Revision = depth, 0
	return r, nil
}

// depthOf returns the depth of r below its parent; 0 without one.
func depthOf(all []fleet.Registration, r fleet.Registration, most int) (int, error) {
	if r.Parent == "" {
		return 0, nil
	}
	parent := Registration(all, r.Parent)
	if parent == nil || parent.Desired == fleet.DesiredRetired {
		return 0, fmt.Errorf("%w: its parent %s is not registered", ErrIllegal, shown(r.Parent))
	}
	if parent.Depth+1 > most {
		return 0, fmt.Errorf("%w: its depth would be %d, and %d is the most", ErrIllegal, parent.Depth+1, most)
	}
	return parent.Depth + 1, nil
}

// WithDefaults returns r with what it leaves open as it is when nobody says, wanted by somebody
// from a moment on.
func WithDefaults(r fleet.Registration, by string, at fleet.Instant) fleet.Registration {
	if r.Desired == "" {
		r.Desired = fleet.DesiredRunning
	}
	if r.Restart == "" {
		r.Restart = fleet.RestartOnFailure
	}
	if r.Where == "" {
		r.Where = fleet.WhereTmux
	}
	if r.Prompt != "" && r.PromptState == "" {
		r.PromptState = fleet.DeliveryPending
	}
	if r.CreatedAt.IsZero() {
		r.CreatedAt = at
	}
	r.DesiredBy, r.DesiredAt = by, at
	return r
}

// Adopt returns the registration of an agent that somebody else started and a
// person hands over. Custos does not know how it is started: it is never
// restarted until somebody says how.
func Adopt(all []fleet.Registration, a fleet.Agent, by string, at fleet.Instant) (fleet.Registration, error) {
	if !fleet.IsPerson(by) {
		return fleet.Registration{}, fmt.Errorf("cannot adopt %s: %w: it takes a person", shown(a.Name), ErrIllegal)
	}
	if a.Process.PID == 0 {
		return fleet.Registration{}, fmt.Errorf("cannot adopt %s: %w: it does not run", shown(a.Name), ErrIllegal)
	}
	r := fleet.Registration{Name: a.Name, Kind: a.Kind, Owner: fleet.OwnerAdopted, Where: fleet.WhereHeadless,
		Dir: a.CWD.Or(""), Restart: fleet.RestartNever, Process: a.Process, SessionID: a.SessionID, Account: a.Account, StartedAt: at,
		Instance: a.Instance} // of one that a shim of ours has started, and of which all is lost
	if a.Pane != nil {
		r.Where = fleet.WhereTmux
	}
	if age, ok := a.Age.Get(); ok {
		r.StartedAt = at.Add(-time.Duration(age))
	}
	return Register(all, r, Bounds{}, by, at)
}

// Registration finds an agent's registration by its name; nil when there is none.
func Registration(all []fleet.Registration, name string) *fleet.Registration {
	return fleet.Find(all, func(x *fleet.Registration) bool { return x.Name == name })
}

// shown is a name as an error may hold it.
func shown(name string) string { return fmt.Sprintf("agent %q", fleet.Line(name, 80)) }
