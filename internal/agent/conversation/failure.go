package conversation

import (
	"cmp"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// FailureName is the normalised name of what ended a turn. Words come from the CLI;
// the text of a provider only helps where the CLI has no word that is known.
func FailureName(word, text string) string {
	switch word {
	case "rate_limit", "rate_limit_error":
		return "rate_limit"
	case "authentication_failed", "authentication_error", "oauth_org_not_allowed", "ProviderAuthError":
		return "authentication"
	case "billing_error":
		return "billing"
	case "server_error", "api_error", "overloaded", "overloaded_error":
		return "server_error"
	case "invalid_request", "invalid_request_error": // nothing but that is told apart: its text may quote any number
		if isTooLong(text) {
			return "context"
		}
		return "invalid_request"
	case "max_output_tokens", "MessageOutputLengthError":
		return "output_length"
	case "ContextOverflowError":
		return "context"
	case "MessageAbortedError":
		return "interrupted"
	}
	return cmp.Or(FailureOf(0, text), fleet.Line(word, 64), "unknown")
}

// tooLong are the words of those whose conversation does not fit.
const tooLong = "prompt is too long|input is too long|context limit|context window|context length"

func isTooLong(text string) bool {
	text = strings.ToLower(clipped(text))
	for word := range strings.SplitSeq(tooLong, "|") {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// IsCause says whether a failure has one of the names by which it is known what to do.
func IsCause(name string) bool {
	return slices.Contains([]string{"rate_limit", "authentication", "billing", "context", "server_error"}, name)
}

// FailureOf names an error by its HTTP status, or else by the words that CLIs use.
func FailureOf(status int, text string) string {
	switch {
	case status == 429:
		return "rate_limit"
	case status == 401, status == 403:
		return "authentication"
	case status == 402:
		return "billing"
	case status >= 500:
		return "server_error"
	}
	text = strings.ToLower(clipped(text))
	for _, c := range []struct{ name, words string }{
		{"rate_limit", "rate limit|rate_limit|429|usage limit|session limit|too many requests|quota"},
		{"authentication", "unauthorized|authentication|invalid api key|invalid x-api-key|401|oauth token|please run /login"},
		{"billing", "billing|credit balance|payment required|402"},
		{"context", tooLong},
		{"server_error", "overloaded|high demand|server error|server_error|500|502|503|529"},
	} {
		for word := range strings.SplitSeq(c.words, "|") {
			if strings.Contains(text, word) {
				return c.name
			}
		}
	}
	return ""
}
