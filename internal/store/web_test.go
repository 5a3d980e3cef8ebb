package store

import (
	"errors"
	"path/filepath"
	"testing"

	"custos/internal/fleet"
)

// Sessions of the page and what is told of them are one transaction: with an error there is
// neither. A list that cannot be read lets nobody see the page.
func TestWebSessionsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "custos.db")
	s := opened(t, path)
	add := func(id string, fails error) error {
		return s.EditWebSessions(t.Context(), at(0), func(all []fleet.WebSession) ([]fleet.WebSession, fleet.Event, error) {
			return append(all, fleet.WebSession{ID: id}), fleet.Event{Kind: "web", Text: id}, fails
		})
	}
	if err := errors.Join(add("a", nil), add("b", nil)); err != nil {
		t.Fatal(err)
	}
	if refused := errors.New("refused"); !errors.Is(add("c", refused), refused) {
		t.Error("a refusal was lost")
	}
	again, err := OpenReadOnly(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	all, err := again.WebSessions(t.Context())
	if err != nil || len(all) != 2 || all[1].ID != "b" {
		t.Errorf("%+v, %v", all, err)
	}
	events, err := again.LastEvents(t.Context(), 10, EventFilter{Kind: "web"})
	if err != nil || len(events) != 2 || events[1].Text != "b" {
		t.Errorf("%+v, %v", events, err)
	}
	if _, err := s.w.Exec("UPDATE meta SET value = '[{' WHERE key = 'web'"); err != nil {
		t.Fatal(err)
	}
	if all, err := s.WebSessions(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("of a broken list: %v, %v", all, err)
	}
}
