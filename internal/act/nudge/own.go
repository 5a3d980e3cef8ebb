package nudge

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"custos/internal/act/agentrun"
	"custos/internal/agent"
	"custos/internal/fleet"
)

// isPutBack says whether what stands at the prompt is the newest prompt that the agent told
// of, to the letter: some CLIs put it back there when their turn is interrupted.
func (r *run) isPutBack(ctx context.Context, shown string) bool {
	told, err := r.Reported(ctx, fleet.Instant{})
	return err == nil && agent.IsNewestPrompt(shown, told)
}

// free makes sure that the prompt is clear, and takes away first what its CLI has put back there.
func (r *run) free(ctx context.Context) error {
	err := r.clear(ctx)
	shown := r.before.Typed.Or("")
	if err != nil || shown == "" {
		return err
	}
	if _, err := r.remove(ctx, shown); err != nil {
		return agentrun.Refused("the prompt that its CLI put back stands in its input line, and is not removed: %w", err)
	}
	if err := r.clear(ctx); err != nil {
		return err
	}
	if r.before.Typed.Or("") != "" {
		return agentrun.Refused("the prompt that its CLI put back was removed, and something stands in its input line again")
	}
	return nil
}

// takeBack takes the text away again that was not taken, so that the prompt is free for
// what is said later, and says what became of it: what still stood at the prompt did not
// arrive, unless the agent tells of it after all.
func (r *run) takeBack(ctx context.Context) *fleet.Arrival {
	why := fleet.Line(r.lost.Error(), 300)
	if r.Headless() {
		return &fleet.Arrival{Outcome: fleet.OutcomeUnknown, Why: why}
	}
	stood, removed := r.remove(ctx, cmp.Or(r.made, r.typed))
	if r.made != "" {
		why += fmt.Sprintf("; its CLI took Enter for the end of a completion, and made %q of it", fleet.Line(r.made, 200))
	}
	if by := r.acknowledged(ctx); by != "" {
		return &fleet.Arrival{Outcome: fleet.OutcomeDelivered, Proof: by}
	}
	switch {
	case !stood:
		return &fleet.Arrival{Outcome: fleet.OutcomeUnknown, Why: why}
	case removed == nil:
		return &fleet.Arrival{Outcome: fleet.OutcomeNot, Why: why + "; it still stood in its input line, and was removed from there"}
	}
	return &fleet.Arrival{Outcome: fleet.OutcomeNot, Why: fmt.Sprintf("%s; it still stands in its input line, and is not removed: %v", why, removed)}
}

// completing is how long after Enter a CLI may take to complete a word.
const completing = 2 * time.Second

// completes notes what the CLI's completion has made of the text: what stands at the prompt
// as the first that is not the text, right after Enter, where all of the text was seen there
// right before. Whatever comes later can be a person's, and so can all where one looks on.
func (r *run) completes(v agentrun.View) {
	shown, known := v.Typed.Get()
	pasted, seen := r.pasted.Typed.Get()
	switch {
	case r.judged:
	case !seen || !r.Kind.Shows(pasted, r.typed), r.before.Pane.Attached+r.pasted.Pane.Attached+v.Pane.Attached > 0,
		time.Since(r.entered) > completing:
		r.judged = true
	case !known || r.Kind.Shows(shown, r.typed):
	default:
		r.judged = true
		if v.Dialog == nil && r.Kind.Completed(shown, r.typed) {
			r.made = shown
		}
	}
}

// mostClears is how often the keys are pressed that take away some of what is typed.
const mostClears = 40

// remove takes away what stands at the prompt for as long as it is what was typed, or what
// is left of it, and nobody else can have written it. It says whether it stood there.
func (r *run) remove(ctx context.Context, typed string) (stood bool, why error) {
	is := r.Kind.Shows
	for range mostClears {
		v, err := r.Look(ctx)
		shown, known := v.Typed.Get()
		switch {
		case err != nil:
			return stood, err
		case !known:
			return stood, fmt.Errorf("it cannot be told what stands there: %s", v.Typed.Why())
		case shown == "":
			return stood, nil
		case v.Dialog != nil, !is(shown, typed):
			return stood, fmt.Errorf("something else stands there")
		}
		stood = true
		if err := r.mayRemove(v); err != nil {
			return stood, err
		}
		if err := r.Press(ctx, r.Kind.Composer.Clear); err != nil {
			return stood, err
		}
		if err := r.changes(ctx, shown); err != nil {
			return stood, err
		}
		is = func(shown, typed string) bool { return r.Kind.Shows(shown, typed) || r.Kind.Rest(shown, typed) }
	}
	return stood, fmt.Errorf("its keys were pressed %d times", mostClears)
}

// mayRemove refuses where a person may be about to write, and where it is not known how.
func (r *run) mayRemove(v agentrun.View) error {
	switch keys := r.Kind.Composer.Clear; {
	case len(keys) == 0:
		return fmt.Errorf("it is not known which keys of %s do that", r.Kind.Name)
	case v.Pane.Attached > 0:
		return fmt.Errorf("a person looks at its terminal")
	case v.Pane.InMode:
		return fmt.Errorf("its terminal is scrolled back")
	default:
		return agentrun.Pressable(keys)
	}
}

// cleared is how long a CLI may take to show that a key took something away.
const cleared = 2 * time.Second

func (r *run) changes(ctx context.Context, shown string) error {
	err := agentrun.Wait(ctx, cleared, func(ctx context.Context) bool {
		v, err := r.Look(ctx)
		now, known := v.Typed.Get()
		return err == nil && known && now != shown
	})
	if err != nil {
		return fmt.Errorf("%s took nothing away", strings.Join(r.Kind.Composer.Clear, " "))
	}
	return nil
}
