package ci

import (
	"net/url"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/ci"
)

// describe is a pipeline in the words of the fleet, safe to show. Everything in it
// was written by the server, or by whoever pushed.
func describe(p ci.Pipeline, l ci.Listing) fleet.Pipeline {
	f := fleet.Pipeline{
		ID: p.ID, Number: p.Number, URL: address(p.URL), Title: fleet.PipelineText(p.Title), Workflow: fleet.PipelineText(p.Workflow), Event: fleet.PipelineText(p.Event),
		Branch: fleet.PipelineText(p.Branch), Head: fleet.PipelineText(p.Head), Pull: p.Pull, Attempt: max(p.Attempt, 1),
		Primary: l.Primary != "" && p.Branch == l.Primary && !p.IsPull(),
		State:   fleet.Known(p.State), Pending: fleet.Known[fleet.Duration](0), Running: fleet.Known[fleet.Duration](0), Ended: fleet.Known[fleet.Duration](0),
	}
	switch p.State {
	case ci.Pending, ci.Blocked:
		f.Pending = age(l.At, p.Created)
	case ci.Running:
		f.Running = age(l.At, p.Started)
	case "":
		why := "its CI calls its state " + fleet.PipelineText(p.Said)
		f.State = fleet.Unknown[string](why)
		f.Pending, f.Running, f.Ended = fleet.Unknown[fleet.Duration](why), fleet.Unknown[fleet.Duration](why), fleet.Unknown[fleet.Duration](why)
	default:
		f.Ended = age(l.At, p.Ended)
	}
	return f
}

// address keeps a URL that leads to a web page, and no other.
func address(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || len(s) > 500 {
		return ""
	}
	return fleet.Line(u.String(), 500)
}

// slack is how far in the future a time may lie that is rounded, or told between
// two clocks.
const slack = 5 * time.Second

// age is how long ago something happened, by the server's clock.
func age(now, then time.Time) fleet.Leaf[fleet.Duration] {
	switch d := now.Sub(then); {
	case then.IsZero():
		return fleet.Unknown[fleet.Duration]("its CI does not tell when")
	case d < -slack:
		return fleet.Unknown[fleet.Duration]("its CI tells a time that is still to come")
	default:
		return fleet.Known(fleet.Duration(max(d, 0)))
	}
}
