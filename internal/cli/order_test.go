package cli

import (
	"bytes"
	"testing"

	"custos/internal/api"
)

// What is done is said once; what is refused is left to the error.
func TestWriteOrder(t *testing.T) {
	for _, c := range []struct {
		o    api.Order
		want string
	}{
		{api.Order{Do: "pause", Agent: "a", State: "done", Over: true, Why: "paused"}, "Paused a\n"},
		{api.Order{Do: "pause", Agent: "a", State: "done", Over: true, Why: "it was paused already"}, "Paused a: it was paused already\n"},
		{api.Order{Do: "backup", Agent: "a", State: "done", Over: true, Why: "checkpoint at 01\x1b[2J"}, "Saved a: checkpoint at 01\n"},
		{api.Order{Do: "resume", Account: "w", State: "done", Over: true}, "Resumed account w\n"},
		{api.Order{Do: "stop", Agent: "a", State: "refused", Over: true, Why: "no"}, ""},
		{api.Order{Do: "spawn", Agent: "a", State: "open", Action: "1"}, "Under way: start a.\n"},
		{api.Order{Do: "nudge", Agent: "a", State: "open"}, "Queued: nudge a\n"},
	} {
		var out bytes.Buffer
		p := &page{out: &out, width: 80}
		writeOrder(p, c.o)
		if err := p.flush(); err != nil || out.String() != c.want {
			t.Errorf("%+v is told as %q, want %q", c.o, out.String(), c.want)
		}
	}
}

func TestByteCount(t *testing.T) {
	for in, want := range map[string]int64{"1": 1, "512MiB": 512 << 20, "4G": 4 << 30, "1.5 KiB": 1536, "": 0, "MiB": 0, "-1": 0, "0": 0, "1e30": 0, "4 parsecs": 0, "NaN": 0} {
		if got, err := byteCount(in); got != want || (err != nil) != (want == 0) {
			t.Errorf("byteCount(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
}
