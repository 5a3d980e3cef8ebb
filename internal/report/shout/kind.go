package shout

import "custos/internal/report"

// Kind is the type "shoutrrr".
func Kind() report.Kind {
	return report.KindOf("shoutrrr", "any one-way service that [shoutrrr](https://shoutrrr.nickfedor.com) knows: ntfy, Pushover, Slack, Discord, mail, …",
		"its URL, which is a secret: from a file, a command or a variable", newService)
}

func newService(s report.Setup, k report.Token) (report.Receiver, error) {
	url, err := s.Secret(k)
	return report.Receiver{Notifier: Notifier{Called: s.Name, URL: url}}, err
}
