// Package terminal tells people on the terminal Custos runs in.
package terminal

import (
	"context"
	"fmt"
	"io"

	"custos/internal/fleet"
	"custos/internal/report"
)

// Notifier prints messages.
type Notifier struct{ Out io.Writer }

var _ report.Notifier = Notifier{}

// Name returns "terminal".
func (Notifier) Name() string { return "terminal" }

// Notify prints the subject, and the body below it.
func (n Notifier) Notify(_ context.Context, m fleet.Message) error {
	_, err := fmt.Fprintf(n.Out, "%s %s\n%s", m.At.Wall.Format("15:04:05"), fleet.Line(m.Subject, 200), fleet.Text(m.Body))
	return err
}
