package catalog

import "context"

// Chat is a place of people that can be asked who Custos is there, which sends
// nothing to anybody.
type Chat struct {
	Name string
	Me   func(context.Context) (string, error)
}
