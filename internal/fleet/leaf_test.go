package fleet_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

func TestValuesSurviveRoundTrip(t *testing.T) {
	fleettest.FewRaced(t)
	rapid.Check(t, func(t *rapid.T) {
		at := fleettest.Now(t)
		roundTrip[fleet.Snapshot](t, at)
		roundTrip[fleet.Past](t, at)
		roundTrip[fleet.Turn](t, at)
		roundTrip[fleet.Result](t, at)
	})
}

func roundTrip[T any](t *rapid.T, at fleet.Instant) {
	first, err := json.Marshal(fleettest.Any[T](t, at))
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatalf("%v in %s", err, first)
	}
	if again, err := json.Marshal(back); err != nil || !bytes.Equal(first, again) {
		t.Fatalf("not the same bytes (%v):\n%s\n%s", err, first, again)
	}
}

// An indented unknown leaf must not read as a value, whatever its type.
func TestIndentedUnknownLeaf(t *testing.T) {
	var l fleet.Leaf[map[string]string]
	if err := json.Unmarshal([]byte("{\n  \"unknown\": \"too far\"\n}"), &l); err != nil || l.IsKnown() || l.Why() != "too far" {
		t.Errorf("%v: known %v, why %q", err, l.IsKnown(), l.Why())
	}
}
