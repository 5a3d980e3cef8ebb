package loop_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/google/go-cmp/cmp"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/store"
)

// everything is all that was ever written down of the records.
func (w *week) everything() (all fleet.Records) {
	read(w, w.dir+"/custos.db", "work", &all.Work)
	read(w, w.dir+"/custos.db", "dependencies", &all.Dependencies)
	read(w, w.dir+"/custos.db", "gates", &all.Gates)
	read(w, w.dir+"/custos.db", "convoys", &all.Convoys)
	read(w, w.dir+"/custos.db", "mails", &all.Mails)
	read(w, w.dir+"/custos.db", "triggers", &all.Triggers)
	return all
}

func read[T any](w *week, path, table string, out *[]T) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(fmt.Sprintf("SELECT json FROM %s ORDER BY seq", table))
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		var v T
		if err := rows.Scan(&text); err != nil {
			w.t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			w.t.Fatal(err)
		}
		*out = append(*out, v)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
}

// replay writes the journal of the ledger into another one: what people and agents
// changed and what each pass decided, line after line. It has to be the same.
func (w *week) replay() {
	path := filepath.Join(w.dir, "again.db")
	st, err := store.Open(context.Background(), store.Options{Path: path, StartedAt: w.now()})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, line := range w.log {
		if line.turn != nil {
			err = st.Commit(context.Background(), fleet.Turn{At: line.at, Plan: fleettest.Rows(fleet.Changes{Records: line.turn.Plan.Records})})
		} else {
			_, err = st.EditRecords(context.Background(), line.at, func(fleet.Records) (fleet.Records, error) { return asAsked(line.edit), nil })
		}
		if err != nil {
			w.t.Fatalf("the journal does not lead to the ledger: %v", err)
		}
	}
	if err := st.Close(); err != nil {
		w.t.Fatal(err)
	}
	is, again := w.everything(), fleet.Records{}
	read(w, path, "work", &again.Work)
	read(w, path, "dependencies", &again.Dependencies)
	read(w, path, "gates", &again.Gates)
	read(w, path, "convoys", &again.Convoys)
	read(w, path, "mails", &again.Mails)
	read(w, path, "triggers", &again.Triggers)
	if d := cmp.Diff(is, again, cmp.AllowUnexported(fleet.Leaf[int]{})); d != "" {
		w.t.Errorf("the journal leads to another ledger:\n%.2000s", d)
	}
}

// asAsked is what an edit wrote, as it was asked for: at the revision before.
func asAsked(r fleet.Records) fleet.Records {
	return fleet.Records{Work: before(r.Work), Dependencies: before(r.Dependencies), Gates: before(r.Gates), Convoys: before(r.Convoys),
		Mails: before(r.Mails), Triggers: before(r.Triggers)}
}

func before[T any, P interface {
	*T
	Front() *fleet.Head
}](list []T) (out []T) {
	for _, v := range list {
		head := P(&v).Front()
		if head.Revision--; head.Revision == 0 {
			head.ID = ""
		}
		out = append(out, v)
	}
	return out
}
