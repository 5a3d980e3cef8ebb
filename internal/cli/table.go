package cli

import (
	"slices"
	"strings"

	"custos/internal/api"
)

// column is one column of a table.
type column struct {
	head    string
	right   bool                     // numbers
	shorten func(string, int) string // nil: never shortened
	paint   func(string) string      // nil: plain
	keep    int                      // columns that others are shortened for, and left out for
	spare   bool                     // may be left out when there is no room
	fold    bool                     // the last one: what has no room goes on below it
}

// narrowest is what a column that may be shortened keeps, and narrowFold what one that
// goes on below needs: with less, all of it stands below the row.
const (
	narrowest  = 10
	narrowFold = 24
)

// each is one row for each of a list.
func each[T any](list []T, row func(T) []string) [][]string {
	rows := make([][]string, len(list))
	for i, x := range list {
		rows[i] = row(x)
	}
	return rows
}

// titled is a table below a headline; nothing where there are no rows.
func titled[T any](p *page, title, note string, all []T, columns []column, row func(T) []string) {
	if len(all) == 0 {
		return
	}
	p.head(title, note)
	p.table(columns, each(all, row))
}

// list writes records of one kind, one a row, or that there are none; and what to type
// next.
func list[T any](p *page, none string, all []T, columns []column, row func(T) []string, next []api.Hint) {
	if len(all) == 0 {
		p.text(0, none)
	}
	p.table(columns, each(all, row))
	p.next(next)
}

// table writes rows below each other, two spaces in and two between columns,
// within the width of the page. Columns that are empty in every row are left out.
func (p *page) table(columns []column, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	columns, rows = withoutEmpty(columns, rows)
	widths, fits := p.widths(columns, rows)
	for last := lastSpare(columns); !fits && last >= 0; last = lastSpare(columns) {
		columns, rows = without(last, columns, rows)
		widths, fits = p.widths(columns, rows)
	}
	if headed(columns) {
		heads := make([]string, len(columns))
		for i, c := range columns {
			heads[i] = p.dim(pad(c.head, widths[i], c.right))
		}
		p.line("  %s", strings.Join(heads, "  "))
	}
	for _, row := range rows {
		cells := make([]string, len(columns))
		row, below := p.folded(columns, row, widths)
		for i, c := range columns {
			cell := row[i]
			if c.shorten != nil {
				cell = c.shorten(cell, widths[i])
			}
			padded := pad(cell, widths[i], c.right)
			if c.paint != nil {
				padded = strings.Replace(padded, cell, c.paint(cell), 1)
			}
			cells[i] = padded
		}
		p.line("  %s", strings.Join(cells, "  "))
		for _, l := range below {
			p.line("%s", l)
		}
	}
}

// folded is a row with what its last column has room for, and the lines below it.
func (p *page) folded(columns []column, row []string, widths []int) (_ []string, below []string) {
	last := len(columns) - 1
	if !columns[last].fold || runes(row[last]) <= widths[last] {
		return row, nil
	}
	row = slices.Clone(row)
	if widths[last] < narrowFold {
		below, row[last] = wrap(row[last], p.width-len(goesOn)*3), ""
		return row, indented(below, strings.Repeat(goesOn, 3))
	}
	at := 2 * len(columns)
	for _, w := range widths[:last] {
		at += w
	}
	lines := wrap(row[last], widths[last])
	row[last] = lines[0]
	return row, indented(lines[1:], strings.Repeat(" ", at))
}

func indented(lines []string, by string) []string {
	for i := range lines {
		lines[i] = by + lines[i]
	}
	return lines
}

func headed(columns []column) bool {
	for _, c := range columns {
		if c.head != "" {
			return true
		}
	}
	return false
}

// widths fits the columns to the page: what may be shortened is, the widest
// first. It says whether every column then has what it is to keep; if not, those
// give way too.
func (p *page) widths(columns []column, rows [][]string) (widths []int, fits bool) {
	widths = make([]int, len(columns))
	total := 2 * len(columns) // before the first, and between two
	for i, c := range columns {
		widths[i] = runes(c.head)
		for _, row := range rows {
			widths[i] = max(widths[i], runes(row[i]))
		}
		total += widths[i]
	}
	total = shrink(columns, widths, total, p.width, func(c column) int { return max(narrowest, c.keep) })
	fits = total <= p.width
	shrink(columns, widths, total, p.width, func(column) int { return narrowest })
	return widths, fits
}

// shrink takes from the widest column, one by one, until the total is the limit
// or no column is wider than its least. It returns the new total.
func shrink(columns []column, widths []int, total, limit int, least func(column) int) int {
	for ; total > limit; total-- {
		widest := -1
		for i, c := range columns {
			if (c.shorten != nil || c.fold) && widths[i] > max(least(c), runes(c.head)) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return total
}

func lastSpare(columns []column) int {
	for i := len(columns) - 1; i >= 0; i-- {
		if columns[i].spare {
			return i
		}
	}
	return -1
}

// without leaves out one column.
func without(i int, columns []column, rows [][]string) ([]column, [][]string) {
	out := make([][]string, len(rows))
	for r, row := range rows {
		out[r] = slices.Delete(slices.Clone(row), i, i+1)
	}
	return slices.Delete(slices.Clone(columns), i, i+1), out
}

func withoutEmpty(columns []column, rows [][]string) ([]column, [][]string) {
	var keep []int
	for i := range columns {
		for _, row := range rows {
			if row[i] != "" {
				keep = append(keep, i)
				break
			}
		}
	}
	outColumns, outRows := make([]column, len(keep)), make([][]string, len(rows))
	for k, i := range keep {
		outColumns[k] = columns[i]
	}
	for r, row := range rows {
		for _, i := range keep {
			outRows[r] = append(outRows[r], row[i])
		}
	}
	return outColumns, outRows
}

func pad(s string, n int, right bool) string {
	space := strings.Repeat(" ", max(0, n-runes(s)))
	if right {
		return space + s
	}
	return s + space
}
