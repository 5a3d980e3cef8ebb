package ledger

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"custos/internal/fleet"
)

// What an order may hold at most.
const (
	longestID   = 100     // bytes
	longestText = 1 << 20 // bytes of a nudge: as much as a pane takes
	longestInst = 100     // bytes of the identity of an instance
)

// Take returns an order as it is first written down: open, unless it is one that
// was taken before, which is returned as it has become. The same ID with another
// content is refused with ErrTaken.
func Take(known *fleet.Order, o fleet.Order, at fleet.Instant) (_ fleet.Order, fresh bool, err error) {
	if err := CheckOrder(o); err != nil {
		return o, false, err
	}
	if o.Spawn != nil {
		o.Spawn = Spawned(o, at)
	}
	if known != nil {
		if !known.Same(o) {
			return *known, false, fmt.Errorf("cannot take order %s: the ID is %w by another order", o.ID, ErrTaken)
		}
		return *known, false, nil
	}
	if o.At.IsZero() {
		o.At = at
	}
	o.State, o.Guard, o.Why, o.Hint, o.Until, o.Action = fleet.OrderOpen, "", "", "", fleet.Instant{}, ""
	return o, true, nil
}

// Spawned returns the registration of a spawn with what goes without saying.
func Spawned(o fleet.Order, at fleet.Instant) *fleet.Registration {
	r := *o.Spawn
	r.Name, r.Owner, r.Desired = o.Agent, fleet.OwnerCustos, fleet.DesiredRunning
	r = WithDefaults(r, o.By, at)
	return &r
}

// CheckOrder says whether an order makes sense by itself.
func CheckOrder(o fleet.Order) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("cannot take order %q: %w: %s", fleet.Line(o.ID, longestID), ErrIllegal, fmt.Sprintf(format, args...))
	}
	switch {
	case o.ID == "" || len(o.ID) > longestID || fleet.Line(o.ID, longestID) != o.ID:
		return fail("its ID must be 1 to %d printable characters", longestID)
	case !slices.Contains(dos(), o.Do):
		return fail("nothing is called %q", fleet.Line(string(o.Do), 40))
	case o.By == "":
		return fail("nobody gives it")
	case len(o.Text) > longestText || !utf8.ValidString(o.Text):
		return fail("its text is longer than %d bytes, or no text", longestText)
	case o.Instance != "" && (len(o.Instance) > longestInst || fleet.Line(o.Instance, longestInst) != o.Instance):
		return fail("an instance is told by at most %d printable characters", longestInst)
	case o.Account != "" && (o.Agent != "" || o.Do != fleet.OrderPause && o.Do != fleet.OrderResume):
		return fail("only a pause or resume is about an account, and then about no agent")
	case o.Do == fleet.OrderNudge && strings.TrimSpace(o.Text) == "":
		return fail("there is nothing to say")
	case o.Do == fleet.OrderAnswer && (o.Dialog == "" || o.Text == ""):
		return fail("an answer names the dialog and the choice")
	case o.Spawn != nil && o.Do != fleet.OrderSpawn:
		return fail("only a spawn holds a registration")
	case o.Spawn != nil && o.Spawn.Name != "" && o.Spawn.Name != o.Agent:
		return fail("it is for %q and spawns %q", fleet.Line(o.Agent, 80), fleet.Line(o.Spawn.Name, 80))
	}
	return checkTarget(o)
}

// checkTarget says whether the order names what it is about.
func checkTarget(o fleet.Order) error {
	if o.Account != "" {
		return nil
	}
	err := CheckName(o.Agent)
	if o.Do == fleet.OrderSpawn || o.Do == fleet.OrderAdopt {
		err = CheckNewName(o.Agent)
	}
	if err != nil {
		return fmt.Errorf("cannot take order %q: %w", o.ID, err)
	}
	return nil
}

func dos() []fleet.OrderDo {
	return []fleet.OrderDo{fleet.OrderSpawn, fleet.OrderNudge, fleet.OrderAnswer, fleet.OrderInterrupt, fleet.OrderStop,
		fleet.OrderRecover, fleet.OrderBackup, fleet.OrderPause, fleet.OrderResume, fleet.OrderAdopt}
}

// Unstopped returns r as it was wanted before a stop that a person takes back: what
// the stop alone had changed is undone, and what anybody wanted since stays.
func Unstopped(r fleet.Registration, o fleet.Order, by string, at fleet.Instant) (fleet.Registration, error) {
	if o.Do != fleet.OrderStop || r.Desired != fleet.DesiredStopped || r.DesiredBy != o.By || r.DesiredAt != o.At {
		return r, nil
	}
	return SetDesired(r, fleet.DesiredRunning, by, at)
}
