package catalog

import (
	"custos/internal/report"
	"custos/internal/report/terminal"
)

// Notifiers makes every notifier that is configured. The terminal Custos runs
// in always is.
func Notifiers(w *World) []report.Notifier {
	return []report.Notifier{terminal.Notifier{Out: w.Stderr}}
}
