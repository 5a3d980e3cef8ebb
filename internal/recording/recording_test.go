package recording_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/recording"
)

func drawRecording(t *rapid.T) fleet.Recording {
	snap := fleettest.Snapshot(t)
	return fleet.Recording{
		Version: recording.Version, Custos: "test", Snapshot: snap,
		Past: fleettest.Past(t, snap.At), Policy: fleettest.Any[fleet.Policy](t, snap.At),
		Rules: "#" + rapid.String().Draw(t, "rules"),
	}
}

func TestRecordingSurvivesRoundTrip(t *testing.T) {
	fleettest.Checks(t, 10) // of a megabyte each
	rapid.Check(t, func(t *rapid.T) {
		first, err := recording.Encode(drawRecording(t))
		if err != nil {
			t.Fatal(err)
		}
		back, err := recording.Decode(first, "v2")
		if err != nil {
			t.Fatalf("%v in\n%s", err, first)
		}
		again, err := recording.Encode(back)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, again) {
			t.Fatalf("not the same bytes:\n%s\n---\n%s", first, again)
		}
	})
}

func TestRecordingIsCanonical(t *testing.T) {
	berlin := time.FixedZone("Berlin", 3600)
	wall := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	locks := []fleet.Lock{{Path: "/b"}, {Path: "/a"}}
	at := func(zone *time.Location, l ...fleet.Lock) fleet.Recording {
		return fleet.Recording{Snapshot: fleet.Snapshot{At: fleet.Instant{Wall: wall.In(zone)}, Locks: fleet.Part[[]fleet.Lock]{Value: l}}}
	}
	one, err1 := recording.Encode(at(time.UTC, locks[0], locks[1]))
	two, err2 := recording.Encode(at(berlin, locks[1], locks[0]))
	if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("zone or order shows (%v, %v):\n%s\n%s", err1, err2, one, two)
	}
	if locks[0].Path != "/b" {
		t.Error("Encode sorted the caller's own list")
	}
	if !bytes.HasSuffix(one, []byte("}\n")) {
		t.Error("no newline at the end")
	}
}

func TestRecordingOfBrokenTextIsStable(t *testing.T) {
	r := fleet.Recording{Rules: "broken \xff byte"}
	r.Snapshot.At.Wall = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	one, err := recording.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := recording.Decode(one, "v2")
	if err != nil {
		t.Fatal(err)
	}
	if two, err := recording.Encode(back); err != nil || !bytes.Equal(one, two) {
		t.Errorf("not stable (%v): %q, %q", err, one, two)
	}
}

func TestRecordingRefusals(t *testing.T) {
	whole := fleet.Recording{Custos: "v1", Rules: "[rule]"}
	whole.Snapshot.At.Wall = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	whole.Snapshot.Agents.Value = []fleet.Agent{{Name: "a", State: fleet.StateCrashed}}
	good, err := recording.Encode(whole)
	if err != nil {
		t.Fatal(err)
	}
	without := func(key string) string {
		fields := map[string]json.RawMessage{}
		if err := json.Unmarshal(good, &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, key)
		b, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, c := range map[string]struct{ in, want string }{
		"empty":         {"", "line 1"},
		"no version":    {`{"custos": "x"}`, "no version"},
		"newer":         {`{"version": 99, "custos": "v7"}`, "it is of version 99, and this custos reads version 1: judge it with the custos that wrote it (v7)"},
		"torn":          {string(good[:len(good)/2]), "it ends in the middle: copy it anew"},
		"unknown field": {strings.Replace(string(good), `"phases"`, `"phrases"`, 1), `unknown field "phrases": judge it with the custos that wrote it (v1)`},
		"unknown word":  {strings.Replace(string(good), `"crashed"`, `"crahsed"`, 1), `snapshot.agents.value.0.state: "crahsed" is none of starting, `},
		"no moment":     {`{"version": 1, "snapshot": {}, "past": {}, "policy": {}, "rules": "x"}`, "snapshot.at is missing"},
		"no rules":      {strings.Replace(string(good), ",\n  \"rules\": \"[rule]\"", "", 1), "cannot read recording: it has no rules: it was edited: record it anew with custos record"},
		"no policy":     {without("policy"), "it has no policy"},
		"no past":       {without("past"), "it has no past"},
		"null past":     {strings.Replace(without("past"), `"version"`, `"past": null, "version"`, 1), "it has no past"},
		"twice":         {strings.Replace(string(good), "{", `{"Rules": "",`, 1), "it says rules twice"},
		"a mark of old": {strings.Replace(string(good), `"started_at"`, `"stopped": [{"kind": "agent", "name": "a"}], "started_at"`, 1), `unknown field "stopped": judge it with the custos that wrote it (v1)`},
		"syntax":        {"{\n\"version\": 1,\n!}", "line 3"},
		"a past":        {"{\n\"version\": 1,\n\"past\": \"x\"}", "cannot read recording: line 3: past: want an object, not a string"},
		"a list":        {"[]", "line 1: want an object, not an array"},
		"wrong type":    {"{\n\"version\": 1,\n\"custos\": 4}", "line 3"},
		"two":           {string(good) + string(good), "after top-level value"},
		"not a number":  {`{"version": 1, "past": {}, "policy": {}, "rules": "x", "snapshot": {"host": {"value": {"load": {"one": "x"}}}}}`, "cannot read recording"},
	} {
		if _, err := recording.Decode([]byte(c.in), "v2"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	own := strings.Replace(string(good), `"phases"`, `"phrases"`, 1)
	if _, err := recording.Decode([]byte(own), "v1"); err == nil || !strings.HasSuffix(err.Error(), `unknown field "phrases": it was edited, or is damaged`) {
		t.Errorf("of this custos: %v", err)
	}
	r := fleet.Recording{}
	r.Snapshot.Host.Value.Load.One = fleet.Known(math.NaN())
	if _, err := recording.Encode(r); err == nil || !strings.Contains(err.Error(), "cannot write recording") {
		t.Errorf("NaN: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	good, err := recording.Encode(fleet.Recording{Custos: "v1", Rules: "[rule.x]"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"past":{},"policy":{},"rules":"x","snapshot":{"host":{"value":{"load":{"one":{ "unknown":"x"}}}}}}`))
	f.Add([]byte(`{"version":1,"snapshot":{},"policy":{},"rules":"x","past":{"alerts":[{"rule":"a","subject":{"kind":"host","name":""}}]}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := recording.Decode(in, "v2")
		if err != nil {
			return
		}
		one, err := recording.Encode(r)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := recording.Decode(one, "v2")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if two, err := recording.Encode(back); err != nil || !bytes.Equal(one, two) {
			t.Fatalf("not stable (%v):\n%s\n%s", err, one, two)
		}
	})
}
