package control

import (
	"context"
	"fmt"
	"regexp"

	"custos/internal/api"
)

var day = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)

func (c *Control) journal(ctx context.Context, call Call) (any, error) {
	want := call.Ask("day")
	if want != "" && !day.MatchString(want) {
		return nil, api.AsBadInput(fmt.Errorf("cannot read the journal of %q: want a day like 2006-01-02", want))
	}
	return c.Journal(ctx, want)
}
