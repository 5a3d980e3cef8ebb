package systemd

import "context"

// Writer changes what a manager runs.
type Writer struct{ *Reader }

// NewWriter makes a writer. It changes nothing.
func NewWriter(o Options) *Writer { return &Writer{NewReader(o)} }

// Reload has the manager read all units anew.
func (w *Writer) Reload(ctx context.Context) error { return w.do(ctx, "daemon-reload") }

// EnableNow has a unit begin now, and whenever the manager does. It waits for neither.
func (w *Writer) EnableNow(ctx context.Context, name string) error {
	return w.do(ctx, "--no-block", "enable", "--now", name)
}

// Disable keeps a unit from beginning by itself; one that runs goes on.
func (w *Writer) Disable(ctx context.Context, name string) error { return w.do(ctx, "disable", name) }

// Restart ends the main process of a unit and begins it anew. It waits for neither.
func (w *Writer) Restart(ctx context.Context, name string) error {
	return w.do(ctx, "--no-block", "restart", name)
}

// Start has a unit begin now. It does not wait for it.
func (w *Writer) Start(ctx context.Context, name string) error {
	return w.do(ctx, "--no-block", "start", name)
}

// Stop ends a unit as its KillMode says, and waits for it.
func (w *Writer) Stop(ctx context.Context, name string) error { return w.do(ctx, "stop", name) }

// Forget takes the mark of a failure from a unit, so that a next start is not refused for it.
func (w *Writer) Forget(ctx context.Context, name string) error {
	return w.do(ctx, "reset-failed", name)
}

func (w *Writer) do(ctx context.Context, args ...string) error {
	_, err := w.systemctl(ctx, args...)
	return err
}
