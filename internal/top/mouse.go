package top

import tea "charm.land/bubbletea/v2"

// wheelRows is how many rows one turn of the wheel goes on.
const wheelRows = 3

// click chooses the row, or the pane, that was clicked at.
func (m Model) click(x, y int) Model {
	if m.form != nil || m.page != nil {
		return m
	}
	l := m.layout()
	if l.tabs >= 0 && y == l.tabs {
		return m.tabAt(x)
	}
	line := l.above
	for i := m.offset[m.pane]; i < len(m.rows) && line < l.above+l.room; i++ {
		high := len(m.lines(m.rows[i]))
		if y >= line && y < line+high && m.rows[i].key != "" {
			m.chosen[m.pane] = m.rows[i].key
		}
		line += high
	}
	return m
}

func (m Model) tabAt(x int) Model {
	at := 0
	for p := range panes {
		at += len(tab(p)) + 1
		if x < at {
			m.pane = p
			return m
		}
	}
	return m
}

// wheel goes through what is shown.
func (m Model) wheel(down bool) Model {
	by := wheelRows
	if !down {
		by = -by
	}
	if m.page != nil {
		p := *m.page
		p.offset += by
		m.page = &p
		return m
	}
	if m.form != nil {
		f := *m.form
		f.offset += by
		m.form = &f
		return m
	}
	return m.move(by)
}

func isDown(b tea.MouseButton) bool { return b == tea.MouseWheelDown }
