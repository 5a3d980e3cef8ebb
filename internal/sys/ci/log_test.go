package ci

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// The end of a log is kept, whatever the pieces it comes in.
func TestTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3*tailBytes).Draw(t, "bytes")
		text := strings.Repeat("0123456789\n", n/11+1)[:n]
		from := io.Reader(strings.NewReader(text))
		if rapid.Bool().Draw(t, "halves") {
			from = iotest.HalfReader(from)
		}
		got, err := tail(from)
		if err != nil || got != text[max(0, n-tailBytes):] {
			t.Fatalf("%d bytes of %d, %v", len(got), n, err)
		}
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestTailOfWhatHasNoEnd(t *testing.T) {
	if _, err := tail(zeros{}); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := tail(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestExitOf(t *testing.T) {
	for log, want := range map[string]int{
		"": -1, "##[error]Process completed with exit code 137.": 137, "exitcode '2': failure": 2,
		"exit status 1\nand later\nProcess completed with exit code 3.": 3, "exit code words": -1,
	} {
		if got := exitOf(log); got != want {
			t.Errorf("%q: %d, want %d", log, got, want)
		}
	}
}
