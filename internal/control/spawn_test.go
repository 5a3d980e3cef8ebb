package control

import (
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

func TestPromised(t *testing.T) {
	minute := fleet.Duration(time.Minute)
	for _, c := range []struct {
		every, grace string
		want         *fleet.Heartbeat
		bad          bool
	}{
		{"", "", nil, false},
		{"10m", "", &fleet.Heartbeat{Every: 10 * minute, Grace: 5 * minute}, false},
		{"10m", "1m", &fleet.Heartbeat{Every: 10 * minute, Grace: minute}, false},
		{"10m", "0s", &fleet.Heartbeat{Every: 10 * minute}, false},
		{"", "1m", nil, true}, {"often", "", nil, true}, {"0s", "", nil, true}, {"-1m", "", nil, true}, {"10m", "-1m", nil, true},
	} {
		got, err := promised(api.SpawnRequest{Heartbeat: c.every, Grace: c.grace})
		if (err != nil) != c.bad || (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%q, %q: %+v, %v; want %+v", c.every, c.grace, got, err, c.want)
		}
	}
}

// Two names that differ by capitals are one to people; a retired agent's is free.
func TestNamesThatDifferByCapitalsAreOne(t *testing.T) {
	for _, c := range []struct {
		there fleet.Registration
		taken bool
	}{
		{fleet.Registration{Name: "ann"}, true},
		{fleet.Registration{Name: "ann", Desired: fleet.DesiredRetired}, false},
		{fleet.Registration{Name: "anna"}, false},
	} {
		_, err := spawnOf(api.SpawnRequest{Kind: "claude", Dir: "/w"}, "Ann", []fleet.Registration{c.there}, nil)
		if refused := err != nil && strings.Contains(err.Error(), `there is an agent "ann"`); refused != c.taken {
			t.Errorf("Ann beside %s (%s): %v, want refused: %v", c.there.Name, c.there.Desired, err, c.taken)
		}
	}
}

// Files that would assign nothing are refused; a name with a comma or a bracket is one.
func TestFilesOfASpawn(t *testing.T) {
	for file, ok := range map[string]bool{"src": true, "a,b": true, "docs/*.md": true, "**/*.go": true, "a[1].txt": true, "../b": true, "/r/x": true, ".": false, "./": false, "a/..": false, "": false, "[": false} {
		r, err := spawnOf(api.SpawnRequest{Kind: "claude", Dir: "/w", Files: []string{file}}, "ann", nil, nil)
		if (err == nil) != ok || ok && r.Files[0] != file {
			t.Errorf("--files %q: %v, %+v", file, err, r)
		}
	}
}

func TestFileWord(t *testing.T) {
	for in, want := range map[string]string{"builder": "builder", "..": "agent", "-x": "x", "a b/c.d": "a-b-c-d", "é": "é", strings.Repeat("x", 200): strings.Repeat("x", 60)} {
		if got := fileWord(in); got != want {
			t.Errorf("fileWord(%q) = %q, want %q", in, got, want)
		}
	}
}
