package control

import (
	"context"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// triggers may be given by anyone in their own name.
func triggers() Noun {
	return Noun{"triggers", []Verb{{Name: "add", Access: Author, Do: given((*Control).addTrigger)}}}
}

// addTrigger writes down that something happened outside.
func (c *Control) addTrigger(ctx context.Context, call Call, r api.TriggerRequest) (api.Trigger, error) {
	made, err := c.edit(ctx, func(fleet.Records) (fleet.Records, error) {
		t, err := ledger.AddTrigger(fleet.Trigger{Head: fleet.Head{Key: OwnKey(r.Key)}, Name: r.Name, Text: r.Text}, call.By, c.Now())
		return fleet.Records{Triggers: []fleet.Trigger{t}}, err
	})
	if err != nil {
		return api.Trigger{}, err
	}
	t := made.Triggers[0]
	return api.Trigger{ID: t.ID, Name: t.Name, Text: t.Text, By: t.By, At: t.At.Wall.UTC()}, nil
}
