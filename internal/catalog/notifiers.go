package catalog

import (
	"io"

	"custos/internal/report"
	"custos/internal/report/terminal"
)

// Notifiers makes every notifier. out is the terminal Custos runs in.
func Notifiers(out io.Writer) []report.Notifier {
	return []report.Notifier{terminal.Notifier{Out: out}}
}
