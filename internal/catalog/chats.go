package catalog

import "context"

// Chat is a place of people that can be asked who Custos is there, which sends
// nothing to anybody.
type Chat struct {
	Name string
	Me   func(context.Context) (string, error)
	// MaySpeak asks whether something could be said there, and says nothing.
	MaySpeak func(context.Context) error
}
