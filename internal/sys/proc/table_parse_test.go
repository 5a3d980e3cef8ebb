package proc

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const someStat = "7 (sh) S 1 2 3 0 -1 0 1 2 3 4 10 20 7 8 20 0 1 0 500 1000 30 99 11 12 13 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 21 22 23 24 25 26 27 0\n"

func FuzzParseStat(f *testing.F) {
	for _, seed := range []string{someStat, "", "7 (", "7 () S", "1 (a) (b) S 1", strings.Repeat(")", 100)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseStat(text)
		if err != nil && s != (Stat{}) {
			t.Errorf("%+v beside an error", s)
		}
		image(text)
	})
}

func TestImageChangesWithTheProgram(t *testing.T) {
	one, traceable := image([]byte(someStat))
	if !traceable {
		t.Error("addresses were shown, and that was not seen")
	}
	for _, c := range []struct {
		from, to string
		same     bool
	}{
		{" 10 20 ", " 11 21 ", true},              // time it used
		{" S 1 ", " R 1 ", true},                  // what it does
		{" 24 25 26 27 ", " 24 95 26 27 ", false}, // where its arguments lie
		{"(sh)", "(vim)", false},                  // its name
		{" 99 11 12 13 ", " 99 11 12 98 ", false}, // its stack
	} {
		other, _ := image([]byte(strings.Replace(someStat, c.from, c.to, 1)))
		if (other == one) != c.same {
			t.Errorf("%q to %q: same is %v", c.from, c.to, other == one)
		}
	}
}

// What is compared with the old command line says the same as splitting anew.
func TestEqualArgs(t *testing.T) {
	arg := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", "ab"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		now, old := arg.Draw(t, "now"), arg.Draw(t, "old")
		text := []byte(strings.Join(now, "\x00"))
		got := strings.Join(splitArgs(text, old), "|")
		if want := strings.Join(splitArgs(text, nil), "|"); got != want {
			t.Fatalf("%q after %q gave %q, want %q", now, old, got, want)
		}
	})
}

func TestTTYName(t *testing.T) {
	for nr, want := range map[uint32]string{0: "", 34817: "pts/1", 136<<8 | 44 | 1<<20: "pts/300", 1025: "tty1", 4<<8 | 64: "ttyS0", 5<<8 | 1: "console", 204 << 8: "204:0"} {
		if got := ttyName(nr); got != want {
			t.Errorf("ttyName(%d) = %q, want %q", nr, got, want)
		}
	}
}

func TestCgroupPath(t *testing.T) {
	for text, want := range map[string]string{
		"0::/user.slice/a\n":                     "/user.slice/a",
		"2:memory:/m\n1:name=systemd:/s\n0::/\n": "/m",
		"1:name=systemd:/s\n0::/\n":              "/s",
		"2:memory:/\n0::/\n":                     "/",
		"":                                       "",
		"nonsense":                               "",
	} {
		if got := string(cgroupPath([]byte(text))); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestKeep(t *testing.T) {
	if keep(time.Second, true) != 0 || keep(time.Hour, true) < keep(time.Hour, false) || keep(time.Hour, false) <= 0 {
		t.Error("a young process is kept, or an old one is not")
	}
	const look = 30 * time.Second // of the probes that read the table
	if keep(time.Hour, true) <= 3*look || keep(time.Hour, false) > look {
		t.Error("each look reads all of a process again, or what the kernel may hide is kept from one to the next")
	}
}

// A process that is being reaped is as dead as the zombie it was a moment ago.
func TestReapedIsDead(t *testing.T) {
	const line = "42 (sh) %s 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0 9"
	for state, want := range map[string]string{"X": "Z", "x": "Z", "Z": "Z", "S": "S"} {
		s, err := parseStat([]byte(strings.Replace(line, "%s", state, 1)))
		if err != nil || s.State != want {
			t.Errorf("state %s is read as %q, %v", state, s.State, err)
		}
	}
}
