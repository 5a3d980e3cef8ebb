package desktop

import "custos/internal/report"

// Kind is the type "desktop", which has no keys.
func Kind() report.Kind {
	return report.KindOf("desktop", "the desktop of this machine", "`notify-send` of the package libnotify-bin; 600 bytes, no markup",
		func(s report.Setup, _ struct{}) (report.Receiver, error) {
			return report.Receiver{Notifier: New(Options{Name: s.Name, Getenv: s.Getenv})}, nil
		})
}
