package tmux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/session/sessiontest"
)

// shown has a server of one pane that shows a text, and what lists it.
func shown(t *testing.T, text string) (*sessiontest.Tmux, fleet.PaneID) {
	t.Helper()
	s := sessiontest.NewTmux(t)
	file := filepath.Join(s.Dir, "text")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.New(t, "one", "sh", "-c", `cat "$1"; echo; echo shown; exec sleep 1000`, "sh", file)
	return s, paneOf(t, s, "one")
}

func paneOf(t *testing.T, s *sessiontest.Tmux, name string) fleet.PaneID {
	t.Helper()
	v, err := New(Options{Sockets: []string{s.Socket}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := v.Panes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Session == name {
			return p.ID
		}
	}
	t.Fatalf("no pane is in session %s", name)
	return fleet.PaneID{}
}

// hostilePane looks like the protocol, ends of answers with every number among it.
func hostilePane() string {
	var b strings.Builder
	b.WriteString("\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3m日本\x1b[0m\n")
	for i := range 10 {
		fmt.Fprintf(&b, "%%end 1 %d 1\n%%begin 1 %d 1\n%%error 1 %d 1\n", i, i, i)
	}
	return b.String()
}

// A picture is the same by a client of its own and by the one that listens, looks like the
// protocol or not; nobody is resized, and no session is joined.
func TestAPictureIsWhatThePaneShows(t *testing.T) {
	s, id := shown(t, hostilePane())
	p, _, _ := listening(t, s)
	awaitThat(t, "somebody to listen", p.listened.Load)
	before := s.Run(t, "list-panes", "-a", "-F", "#{session_name} #{pane_width} #{pane_height} #{session_attached}")
	var painting session.Painting
	awaitThat(t, "the picture", func() bool {
		var err error
		if painting, err = p.Paint(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(painting.Text, "shown")
	})
	if !p.listened.Load() {
		t.Error("the server is not listened to")
	}
	alone, err := p.Viewer.Paint(t.Context(), id)
	if err != nil || alone != painting {
		t.Errorf("by a client of its own %.400q, %v; by the one that listens %.400q", alone.Text, err, painting.Text)
	}
	if !strings.HasPrefix(painting.Text, "\x1b[1m\x1b[31mred") || !strings.Contains(painting.Text, "\x1b[38;2;1;2;3m日本") || !strings.Contains(painting.Text, "%end 1 7 1\n%begin 1 7 1") {
		t.Errorf("it shows %q", painting.Text)
	}
	if after := s.Run(t, "list-panes", "-a", "-F", "#{session_name} #{pane_width} #{pane_height} #{session_attached}"); after != before {
		t.Errorf("the panes were\n%s\nand are\n%s", before, after)
	}
}

// Many ask at once, and each gets its own pane; one that is gone, or another by now, is gone.
func TestManyPicturesAtOnce(t *testing.T) {
	s, first := shown(t, "pane 0")
	ids := []fleet.PaneID{first}
	for i := 1; i < 5; i++ {
		name := fmt.Sprint("p", i)
		s.Open(t, name, "pane "+fmt.Sprint(i)+"\n")
		ids = append(ids, paneOf(t, s, name))
	}
	p, _, _ := listening(t, s)
	awaitThat(t, "the panes to be drawn", func() bool {
		for i, id := range ids {
			if got, err := p.Paint(t.Context(), id); err != nil || !strings.HasPrefix(got.Text, fmt.Sprint("pane ", i)) {
				return false
			}
		}
		return true
	})
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			for range 40 {
				got, err := p.Paint(t.Context(), id)
				if err != nil || !strings.HasPrefix(got.Text, fmt.Sprint("pane ", i)) {
					t.Errorf("pane %d shows %q, %v", i, got.Text, err)
					return
				}
			}
		})
	}
	all.Wait()
	other := ids[1]
	other.Root.Start++
	s.Run(t, "kill-session", "-t", "=p2")
	for _, id := range []fleet.PaneID{other, ids[2], {Socket: first.Socket, Server: first.Server, Pane: "%99", Root: first.Root}} {
		if got, err := p.Paint(t.Context(), id); !errors.Is(err, session.ErrGone) {
			t.Errorf("%+v: %q, %v", id, got.Text, err)
		}
		if got, err := p.Viewer.Paint(t.Context(), id); !errors.Is(err, session.ErrGone) {
			t.Errorf("%+v, alone: %q, %v", id, got.Text, err)
		}
	}
	if got, err := p.Paint(t.Context(), ids[0]); err != nil || !strings.HasPrefix(got.Text, "pane 0") {
		t.Errorf("after that: %q, %v", got.Text, err)
	}
}

// Whatever comes between the beginning and the end of a picture is of it, and what is said
// around it is told.
func FuzzShot(f *testing.F) {
	f.Add("a\n%end 1 5 1\n%sessions-changed\n%begin 1 6 1\n")
	f.Add("%error 1 5 1")
	f.Fuzz(func(t *testing.T, content string) {
		s := newShot("%1")
		if strings.Contains(content, s.nonce) {
			return
		}
		lines := append([]string{"%begin 1 4 1", s.nonce + "A head", "%end 1 4 1", "%begin 1 5 1"}, strings.Split(content, "\n")...)
		lines = append(lines, "%end 1 5 1", "%window-close @1", "%begin 1 6 1", s.nonce+"B", "%end 1 6 1")
		var r reading
		var others []string
		for i, l := range lines {
			over, err := s.take(l, &r, func(l string) { others = append(others, l) })
			if err != nil || over != (i == len(lines)-1) {
				t.Fatalf("line %d %q: %v, %v", i, l, over, err)
			}
		}
		s.end(nil)
		if got := <-s.done; got.err != nil || got.head != "head" || got.text != content || len(others) != 1 {
			t.Fatalf("%+v of %q, told %q", got, content, others)
		}
	})
}

// Keys reach a program as those of a person do, each of them, and pastes are in brackets.
func TestKeysArePressedAsTheyAre(t *testing.T) {
	s := sessiontest.NewTmux(t)
	file := filepath.Join(s.Dir, "got")
	s.New(t, "keys", "sh", "-c", `printf '\033[?2004h'; stty raw -echo; echo ready; exec cat > "$1"`, "sh", file)
	id := paneOf(t, s, "keys")
	p, err := NewProvider(ProviderOptions{Socket: s.Socket})
	if err != nil {
		t.Fatal(err)
	}
	awaitThat(t, "the program", func() bool {
		text, err := p.Screen(t.Context(), id, 10)
		return err == nil && strings.Contains(text, "ready")
	})
	err = p.Press(t.Context(), id, fleet.ProcessID{}, []session.Stroke{{Text: "a é;'\"$(x)#{pid}"}, {Key: "Up"}, {Key: "C-c"}, {Paste: "two\nlines\x1b[201~"}, {Key: "Enter"}, {Text: "-t"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "a é;'\"$(x)#{pid}\x1b[A\x03\x1b[200~two\nlines[201~\x1b[201~\r-t"
	var got []byte
	awaitThat(t, "the keys", func() bool { got, _ = os.ReadFile(file); return len(got) >= len(want) })
	if string(got) != want {
		t.Errorf("it got %q, want %q", got, want)
	}
	for _, bad := range []session.Stroke{{Key: "Up ; kill-server"}, {Key: "-R"}, {Key: ""}, {Text: strings.Repeat("x", mostPressed+1)}, {Key: "é"}} {
		if p.Press(t.Context(), id, fleet.ProcessID{}, []session.Stroke{bad}) == nil {
			t.Errorf("%.20q is pressed", bad)
		}
	}
	other := id
	other.Root.PID++
	if err := p.Press(t.Context(), other, fleet.ProcessID{}, []session.Stroke{{Text: "x"}}); !errors.Is(err, session.ErrGone) {
		t.Errorf("another pane: %v", err)
	}
}
