package conversation

import (
	json "github.com/go-json-experiment/json/v1"

	"custos/internal/fleet"
)

// untold are tokens of which nothing was said.
func untold() fleet.Leaf[fleet.Tokens] { return fleet.Unknown[fleet.Tokens]("not told") }

// told are tokens as they were read: nothing is known of those that are no numbers, nor
// of an answer that is said to have used none at all, for that is how errors are told.
func told(t fleet.Tokens, err error) fleet.Leaf[fleet.Tokens] {
	switch {
	case err != nil:
		return fleet.Unknown[fleet.Tokens](err.Error())
	case t.All() == 0:
		return untold()
	}
	return fleet.Known(t)
}

// claudeAnswer is a part of an answer. Each part repeats what is known of the tokens when
// the answer begins: what was written is told by the result, and by the transcript.
type claudeAnswer struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
	Usage   json.RawMessage `json:"usage"`
}

// used is what an answer used. That of an error is the CLI's own, of no model.
func (a claudeAnswer) used(session string, side bool) []Event {
	if a.Model == "<synthetic>" || a.ID == "" {
		return nil
	}
	e := newEvent(Response, session)
	e.Key, e.Model, e.Side, e.Tokens = "claude:"+shortID(a.ID), fleet.Line(clipped(a.Model), 100), side, told(claudeTokens(a.Usage))
	return []Event{e}
}

// claudeModelUsage is what one model used of a whole run, its helpers included.
type claudeModelUsage struct {
	Input      *float64 `json:"inputTokens"`
	Output     *float64 `json:"outputTokens"`
	CacheRead  *float64 `json:"cacheReadInputTokens"`
	CacheWrite *float64 `json:"cacheCreationInputTokens"`
	Write5m    *float64 `json:"cacheCreationEphemeral5mInputTokens"` // 2.1.197 does not tell
	Write1h    *float64 `json:"cacheCreationEphemeral1hInputTokens"`
	Thinking   *float64 `json:"thinkingTokens"`
}

func (u claudeModelUsage) tokens() (fleet.Tokens, error) {
	n, err := tokensOf(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Write5m, u.Write1h, u.Thinking)
	if err != nil {
		return fleet.Tokens{}, err
	}
	return fleet.Tokens{Input: n[0], Output: n[1], CacheRead: n[2], CacheWrite5m: max(n[4], n[3]-n[5]), CacheWrite1h: n[5], Reasoning: min(n[6], n[1])}, nil
}

// spent is what a run cost and used. A run that only failed is said to have cost nothing,
// which nobody knows.
func (r claudeResult) spent() (fleet.Leaf[float64], fleet.Leaf[fleet.Tokens]) {
	tokens := told(claudeTokens(r.Usage))
	if len(r.Models) > 0 {
		tokens = told(r.ofModels())
	}
	if usd, ok := dollars(r.Cost).Get(); !tokens.IsKnown() && (!ok || usd == 0) {
		return dollars(nil), tokens
	}
	return dollars(r.Cost), tokens
}

// ofModels is the sum over models, which the usage of the main conversation is a part of.
func (r claudeResult) ofModels() (sum fleet.Tokens, err error) {
	for _, u := range r.Models {
		t, err := u.tokens()
		if err != nil {
			return fleet.Tokens{}, err
		}
		sum = sum.Add(t)
	}
	if main, err := claudeTokens(r.Usage); err == nil && sum.CacheWrite1h == 0 && main.CacheWrite1h <= sum.CacheWrite5m {
		sum.CacheWrite5m, sum.CacheWrite1h = sum.CacheWrite5m-main.CacheWrite1h, main.CacheWrite1h
	}
	return sum, nil
}

// geminiStats is what a run used. Thoughts are in the sum of all, and nowhere else.
type geminiStats struct {
	Input  *float64 `json:"input_tokens"`
	Output *float64 `json:"output_tokens"`
	Cached *float64 `json:"cached"`
	Total  *float64 `json:"total_tokens"`
}

func (u geminiStats) tokens() fleet.Leaf[fleet.Tokens] {
	n, err := tokensOf(u.Input, u.Output, u.Cached, u.Total)
	if err != nil {
		return told(fleet.Tokens{}, err)
	}
	thoughts := max(0, n[3]-n[0]-n[1])
	return told(fleet.Tokens{Input: max(0, n[0]-n[2]), CacheRead: min(n[2], n[0]), Output: n[1] + thoughts, Reasoning: thoughts}, nil)
}
