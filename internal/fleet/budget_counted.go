package fleet

import "cmp"

// NotCounted says that nothing is counted now of what models use, since when, and why; "" while it is.
func (s *Spendings) NotCounted() string {
	switch {
	case s.Uncounted == "":
		return ""
	case s.Counted.IsZero():
		return "nothing was ever counted: " + s.Uncounted
	}
	return "nothing is counted since " + s.Counted.UTC().Format("2006-01-02 15:04 UTC") + ": " + s.Uncounted
}

// MoreMayBe is why more may have been spent than was counted; "" where nothing says so.
func (s *Spendings) MoreMayBe() string {
	return cmp.Or(s.NotCounted(), s.NotRead())
}

// NotRead says which conversations cannot be read, and why; "" when all can.
func (s *Spendings) NotRead() string {
	if s.Unread == "" {
		return ""
	}
	return "not all conversations can be read: " + s.Unread
}
