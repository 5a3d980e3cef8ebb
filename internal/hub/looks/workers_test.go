package looks

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/hub/rows"
)

// TestWorkers: what a host tells of its workers is read as it was told, also where it cannot look at itself; where it
// cannot be read, or the host does not know it, nothing is taken for it.
func TestWorkers(t *testing.T) {
	var teller Teller
	for name, want := range map[string][]fleet.PoolWorkers{"some": {{Pool: "dev", Present: 3, Free: 1, Limits: []fleet.SpentAccount{{Account: "work", Until: time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)}, {Account: "own"}}}, {Pool: "a b", Why: "lost"}}, "none": {}} {
		told, err := teller.Rows(Told{Workers: want}, time.Now())
		blind, wrong := (&Teller{}).Blind("tmux hangs", want, time.Now())
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		for _, all := range []map[string][]byte{told, blind} {
			if got, why := Workers(rows.Host{Rows: all}); !reflect.DeepEqual(got, append([]fleet.PoolWorkers(nil), want...)) || why != "" {
				t.Errorf("%s: it reads %+v, %q", name, got, why)
			}
		}
	}
	blind, err := teller.Blind("tmux hangs", nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	says := func(workers string) map[string][]byte {
		return map[string][]byte{hostRow: []byte(time.Now().Format(time.RFC3339Nano) + ` {"mode":"auto","offers":{},"workers":` + workers + "}")}
	}
	if got, _ := Workers(rows.Host{Rows: says(`[{"pool":"dev","why":"a\u001b[2Jb"}]`)}); len(got) != 1 || strings.Contains(got[0].Why, "\x1b") {
		t.Errorf("it reads %+v", got)
	}
	if got, _ := Workers(rows.Host{Rows: says(`[{"pool":"dev","limits":[{"account":"a\u001b[2Jb"}]}]`)}); len(got) != 1 || strings.Contains(got[0].Limits[0].Account, "\x1b") {
		t.Errorf("it reads %+v", got)
	}
	for name, c := range map[string]struct {
		rows map[string][]byte
		want string
	}{
		"nothing":              {nil, "told nothing of itself"},
		"blind":                {blind, "tmux hangs"},
		"no row":               {map[string][]byte{hostRow: []byte("{")}, "told nothing of itself"},
		"not JSON":             {says("["), "told nothing of itself"},
		"no numbers":           {says(`[{"pool":"dev","present":"x"}]`), "told nothing of itself"},
		"below none":           {says(`[{"pool":"dev","present":-1}]`), "no number of workers"},
		"more free than is":    {says(`[{"pool":"dev","present":1,"free":2}]`), "no number of workers"},
		"more than can be":     {says(`[{"pool":"dev","present":9223372036854775807}]`), "no number of workers"},
		"a day of no calendar": {says(`[{"pool":"dev","present":1,"limits":[{"account":"a","until":"soon"}]}]`), "told nothing of itself"},
		"many accounts":        {says(`[{"pool":"dev","present":1,"limits":[` + strings.Repeat(`{"account":"a"},`, 100) + `{"account":"a"}]}]`), "no number of accounts"},
		"twice":                {says(`[{"pool":"dev","present":1},{"pool":"dev","present":2}]`), "no number of workers"},
	} {
		if got, why := Workers(rows.Host{Rows: c.rows}); len(got) > 0 || !strings.Contains(why, c.want) {
			t.Errorf("%s: it reads %+v, %q", name, got, why)
		}
	}
}
