package journal

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/fleet"
)

func TestOneFileADay(t *testing.T) {
	d := Dir(t.TempDir() + "/journal")
	// 23:59 in New York is the next day in UTC.
	wall := time.Date(2026, 11, 19, 23, 59, 0, 0, time.FixedZone("EST", -5*3600))
	for _, w := range []time.Time{wall, wall.Add(time.Hour), wall.Add(24 * time.Hour)} {
		if err := d.Append(fleet.Instant{Wall: w}, "## entry\n\n"); err != nil {
			t.Fatal(err)
		}
	}
	text, _, err := d.Read("2026-11-20")
	if err != nil || strings.Count(text, "## entry") != 2 || strings.Count(text, "# Journal of 2026-11-20") != 1 {
		t.Errorf("the day holds %q, %v", text, err)
	}
	if _, day, _ := d.Read(""); day != "2026-11-21" {
		t.Errorf("the newest day is %q", day)
	}
	if _, _, err := d.Read("../../etc/passwd"); err == nil {
		t.Error("a day outside the folder was read")
	}
}

// Nobody waits for a pipe that lies in the place of a day, and what lies there is said.
func TestADayThatIsNoFile(t *testing.T) {
	d, at := Dir(t.TempDir()), fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	if err := unix.Mkfifo(string(d)+"/2026-11-20.md", 0o600); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"written": func() error { return d.Append(at, "x") },
		"read":    func() error { _, _, err := d.Read("2026-11-20"); return err },
	} {
		done := make(chan error, 1)
		go func() { done <- do() }()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "is a named pipe, not a file: remove it") {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("it is waited for to be %s", what)
		}
	}
}
