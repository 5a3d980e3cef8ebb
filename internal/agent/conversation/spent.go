package conversation

import "bytes"

// Spent reads of a line what Read does, but not with what tools were called: for who counts, and goes over all the
// lines that there are.
func Spent(language string, line []byte) ([]Entry, error) {
	if language == "claude" && len(line) <= mostBytes {
		if entries, ok := claudeSpent(bytes.TrimSpace(line)); ok {
			return entries, nil
		}
	}
	entries, err := Read(language, line)
	for i := range entries {
		entries[i].Args = ""
	}
	return entries, err
}

// claudeSpent reads an answer without encoding/json. Where it is not as Claude Code writes answers, it says so.
func claudeSpent(line []byte) ([]Entry, bool) {
	a := claudeScan{scan: scan{text: line}}
	if !a.line() || a.next() != 0 || a.at < len(line) || a.l.Type != "assistant" || a.l.APIError || a.usage == nil {
		return nil, false
	}
	if a.l.Message.Model == claudeNobody {
		return nil, true
	}
	tokens, err := a.usage.tokens()
	return a.l.response(a.l.entry(), tokens, true, a.blocks), err == nil
}

// claudeScan is a line that is gone over.
type claudeScan struct {
	scan
	l      claudeLine
	usage  *claudeUsage
	blocks []claudeBlock // without what tools were called with
}

func (a *claudeScan) line() bool {
	l := &a.l
	return a.object([]string{"type", "timestamp", "sessionId", "cwd", "version", "requestId", "uuid", "isSidechain", "isApiErrorMessage", "message"}, func(which int) bool {
		switch which {
		case 7:
			return a.flag(&l.Side)
		case 8:
			return a.flag(&l.APIError)
		case 9:
			return a.message()
		}
		return a.keep([]*string{&l.Type, &l.Timestamp, &l.Session, &l.CWD, &l.Version, &l.Request, &l.UUID}[which])
	})
}

func (a *claudeScan) message() bool {
	m := &a.l.Message
	return a.object([]string{"id", "model", "stop_reason", "content", "usage"}, func(which int) bool {
		switch which {
		case 3:
			return a.content()
		case 4:
			a.usage = &claudeUsage{}
			return a.tokens(a.usage)
		}
		return a.keep([]*string{&m.ID, &m.Model, &m.Stop}[which])
	})
}

func (a *claudeScan) content() bool {
	if a.next() != '[' {
		return a.skip()
	}
	return a.inside('[', ']', func() bool {
		var b claudeBlock
		ok := a.object([]string{"type", "id", "name", "tool_use_id", "is_error"}, func(which int) bool {
			if which == 4 {
				return a.flag(&b.IsError)
			}
			return a.keep([]*string{&b.Type, &b.ID, &b.Name, &b.UseID}[which])
		})
		a.blocks = append(a.blocks, b)
		return ok
	})
}

func (a *claudeScan) tokens(u *claudeUsage) bool {
	return a.object([]string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation", "output_tokens_details"}, func(which int) bool {
		switch which {
		case 4:
			return a.object([]string{"ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"}, func(which int) bool {
				return a.count([]**float64{&u.Split.FiveMinutes, &u.Split.Hour}[which])
			})
		case 5:
			return a.object([]string{"thinking_tokens"}, func(int) bool { return a.count(&u.Details.Thinking) })
		}
		return a.count([]**float64{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite}[which])
	})
}
