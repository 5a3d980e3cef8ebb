// Package looks is what a host of a hub shows of itself, as rows (hub/rows), and what another host
// makes of them: so that who looks at many hosts asks none of them.
//
// A row is one agent, one alert, one thing that needs a person, one thing that was asked for; the row
// look.host is the rest. Each says when it was seen, by the clock of its host; with when that host was
// heard last, by its own clock and by that of who reads, no difference between two clocks matters.
// What a host tells is the text of a stranger: a row that cannot be read, or is not what its key
// says, is counted and left out.
package looks
