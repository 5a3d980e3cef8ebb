package cli

import "strings"

// column is one column of a table.
type column struct {
	head    string
	right   bool                     // numbers
	shorten func(string, int) string // nil: never shortened
	paint   func(string) string      // nil: plain
}

// narrowest is what a column that may be shortened keeps.
const narrowest = 10

// table writes rows below each other, two spaces in and two between columns,
// within the width of the page. Columns that are empty in every row are left out.
func (p *page) table(columns []column, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	columns, rows = withoutEmpty(columns, rows)
	widths := p.widths(columns, rows)
	if headed(columns) {
		heads := make([]string, len(columns))
		for i, c := range columns {
			heads[i] = p.dim(pad(c.head, widths[i], c.right))
		}
		p.line("  %s", strings.Join(heads, "  "))
	}
	for _, row := range rows {
		cells := make([]string, len(columns))
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
	}
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
// first.
func (p *page) widths(columns []column, rows [][]string) []int {
	widths := make([]int, len(columns))
	total := 2 * len(columns) // before the first, and between two
	for i, c := range columns {
		widths[i] = runes(c.head)
		for _, row := range rows {
			widths[i] = max(widths[i], runes(row[i]))
		}
		total += widths[i]
	}
	for ; total > p.width; total-- {
		widest := -1
		for i, c := range columns {
			if c.shorten != nil && widths[i] > max(narrowest, runes(c.head)) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
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
