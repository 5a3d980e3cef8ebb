package store

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// line is one row to write: its value as JSON, and what its table keeps beside that.
type line struct {
	table string
	value any
	names columns        // that no two rows of the table share
	at    *fleet.Instant // how old the row is by; nil: its table knows no age
	first columns        // as they are when the row is new
	now   columns        // as they are from now on
	where string         // SQL: which row that is there already is written over; "": any
}

type columns []column

type column struct {
	name  string
	value any
}

// first is for a row that stays as it was written first.
const first = "false"

// put writes a row, and says whether that changed anything.
func (t *tx) put(l line) (written bool, err error) {
	text, err := encode(l.value)
	if err != nil {
		return false, err
	}
	anew := append(slices.Clip(l.now), column{"json", text})
	if l.at != nil {
		anew = append(anew, aged(*l.at)...)
	}
	all := slices.Concat(l.names, l.first, anew)
	query := fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s) ON CONFLICT (%s) DO UPDATE SET %s", l.table,
		all.each("%[1]s"), strings.Repeat(", ?", len(all)-1), l.names.each("%[1]s"), anew.each("%[1]s = excluded.%[1]s"))
	if l.where != "" {
		query += " WHERE " + l.where
	}
	n, err := t.exec(query, all.values()...)
	return n > 0, err
}

// aged are the columns that say how old a row is.
func aged(at fleet.Instant) columns {
	return columns{{"wall", wall(at.Wall)}, {"boot", at.Boot}, {"up", int64(at.Up)}}
}

// each spells the names of columns, with commas between them.
func (c columns) each(format string) string {
	var list []string
	for _, one := range c {
		list = append(list, fmt.Sprintf(format, one.name))
	}
	return strings.Join(list, ", ")
}

func (c columns) values() (list []any) {
	for _, one := range c {
		list = append(list, one.value)
	}
	return list
}
