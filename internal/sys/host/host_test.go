package host

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
)

func TestClockGoesOn(t *testing.T) {
	c, err := NewClock()
	if err != nil {
		t.Fatal(err)
	}
	one, two := c.Now(), c.Now()
	if two.Up < one.Up || one.Up <= 0 || one.Boot == "" || one.Boot != two.Boot {
		t.Errorf("%+v, then %+v", one, two)
	}
	if one.Wall.Location() != time.UTC || time.Since(one.Wall) > time.Minute {
		t.Errorf("wall clock says %s", one.Wall)
	}
	b, _ := json.Marshal(one.Wall)
	var back time.Time
	if err := json.Unmarshal(b, &back); err != nil || back != one.Wall {
		t.Errorf("%v came back from JSON as %v, %v", one.Wall, back, err)
	}
}

func TestVantage(t *testing.T) {
	p := Vantage()
	if p.Host == "" || p.Boot == "" || p.PIDNamespace == "" || p.MountNamespace == "" || p.UID != os.Geteuid() {
		t.Errorf("vantage %+v has gaps", p)
	}
}

func TestInContainer(t *testing.T) {
	for _, c := range []struct {
		cgroup string
		file   string
		want   bool
	}{
		{"0::/init.scope\n", "", false},
		{"", "", false},
		{"12:memory:/docker/4f1\n", "", true},
		{"0::/kubepods.slice/x\n", "", true},
		{"0::/\n", "/.dockerenv", true},
		{"0::/\n", "/run/.containerenv", true},
	} {
		read := func(path string) ([]byte, error) {
			if path == "/proc/1/cgroup" && c.cgroup != "" {
				return []byte(c.cgroup), nil
			}
			return nil, errors.New("no")
		}
		if got := inContainer(read, func(p string) bool { return p == c.file }); got != c.want {
			t.Errorf("cgroup %q, file %q: %v", c.cgroup, c.file, got)
		}
	}
}
