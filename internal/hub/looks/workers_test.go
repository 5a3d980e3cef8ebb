package looks

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/hub/rows"
)

// TestWorkers: what a host tells of its workers is read as it was told, and where not all of it can be, or the host does
// not know it, none of it is.
func TestWorkers(t *testing.T) {
	var teller Teller
	told, err := teller.Rows(Told{Workers: []fleet.PoolWorkers{{Pool: "dev", Present: 3, Free: 1}, {Pool: "a b", Why: "lost"}}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	got, why := Workers(rows.Host{Rows: told})
	if len(got) != 2 || why != "" {
		t.Fatalf("it reads %+v, %q", got, why)
	}
	for _, w := range got {
		if w != (fleet.PoolWorkers{Pool: "dev", Present: 3, Free: 1}) && w != (fleet.PoolWorkers{Pool: "a b", Why: "lost"}) {
			t.Errorf("it reads %+v", w)
		}
	}
	told["workers.dev"] = []byte(time.Now().Format(time.RFC3339Nano) + ` {"pool":"dev","why":"a\u001b[2Jb"}`)
	if got, _ := Workers(rows.Host{Rows: told}); len(got) != 2 || strings.Contains(got[0].Why+got[1].Why, "\x1b") {
		t.Errorf("it reads %+v", got)
	}
	blind, err := teller.Blind("tmux hangs", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	with := func(key, value string) rows.Host {
		all := map[string][]byte{key: []byte(value)}
		for k, v := range told {
			if k != key {
				all[k] = v
			}
		}
		return rows.Host{Rows: all}
	}
	at := time.Now().Format(time.RFC3339Nano) + " "
	for name, c := range map[string]struct {
		host rows.Host
		want string
	}{
		"nothing":           {rows.Host{}, "told nothing of itself"},
		"blind":             {rows.Host{Rows: blind}, "tmux hangs"},
		"cut":               {rows.Host{Rows: told, Cut: []byte("{}")}, "not all"},
		"odd":               {rows.Host{Rows: told, Odd: 1}, "not all"},
		"not JSON":          {with("workers.dev", at+"{"), "cannot be read"},
		"of another pool":   {with("workers.dev", at+`{"pool":"x","present":1}`), "cannot be read"},
		"below none":        {with("workers.dev", at+`{"pool":"dev","present":-1}`), "cannot be read"},
		"more free than is": {with("workers.dev", at+`{"pool":"dev","present":1,"free":2}`), "cannot be read"},
		"more than can be":  {with("workers.dev", at+`{"pool":"dev","present":9223372036854775807}`), "cannot be read"},
		"without a moment":  {with("workers.dev", `{"pool":"dev","present":1}`), "cannot be read"},
	} {
		if got, why := Workers(c.host); len(got) > 0 || !strings.Contains(why, c.want) {
			t.Errorf("%s: it reads %+v, %q", name, got, why)
		}
	}
}
