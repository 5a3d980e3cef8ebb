package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"custos/internal/api"
)

// A text that is not UTF-8 is sent nowhere: JSON would have other characters in its place. What is
// said names the text and the byte.
func TestWhatIsNotUTF8IsNotSent(t *testing.T) {
	c := api.NewClient(api.InProcess(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it is sent") })))
	for want, r := range map[string]api.OrderRequest{
		"cannot read the text: it is not UTF-8 (0xFF, byte 3)":    {Do: "nudge", Agent: "x", Text: "go\xff"},
		"cannot read the text: it is not UTF-8 (0xC3, byte 1)":    {Do: "nudge", Agent: "x", Text: "\xc3"},
		"cannot read the prompt: it is not UTF-8 (0xE9, byte 5)":  {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Prompt: "äé\xe9"}},
		"cannot read the argv: it is not UTF-8 (0x80, byte 2)":    {Do: "spawn", Agent: "x", Spawn: &api.SpawnRequest{Argv: []string{"claude", "-\x80"}}},
		"cannot read the text: it is not UTF-8 (0xED, byte 1)":    {Do: "nudge", Agent: "x", Text: "\xed\xa0\x80"}, // half of a pair
		"cannot read the agent: it is not UTF-8 (0xF8, byte 1): ": {Do: "stop", Agent: "\xf8"},
	} {
		_, err := c.Order(t.Context(), r)
		var e *api.Error
		if !errors.As(err, &e) || e.Kind != api.BadInput || !strings.Contains(e.Message, want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if at := api.BrokenAt("what stands for a broken one, \uFFFD, is none"); at != -1 {
		t.Errorf("byte %d of it is said to be broken", at)
	}
}
