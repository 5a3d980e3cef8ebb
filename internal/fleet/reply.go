package fleet

import "strconv"

// Place is where people may answer Custos: a room, a chat, a folder.
type Place struct {
	Name   string   // of the receiver whose place it is; a spool has its own
	Room   string   // its immutable ID
	People []string // immutable IDs of those who may; replies of others are not read
	Asks   bool     // people are asked there, so that they can approve and deny
}

// Said is one thing that was said in a place.
type Said struct {
	ID     string   // as the place has it: never the same for two of them
	Room   string   // where it was said
	By     string   // immutable ID of who said it
	Text   string   // as it came: anything may be in it
	Thread string   // ID of the message that the thread began with; "" outside of one
	About  string   // text of the message of Custos that it answers; "" for none
	Age    Duration // since it was said, by the clock of the place
	Own    bool     // Custos said it
	Edit   bool     // it changes what was said before
}

// Ask is what a person may approve or deny about one alert. It is sent with the
// alert, and holds only as it was sent.
type Ask struct {
	Alert  AlertKey
	Number int64
	Hash   string   // of exactly what would be done; "" when nothing may be
	Uses   int      // how often just that was answered before
	Lines  []string // the question, what would be done, and what to say; safe to show
	Agent  string   // that stands at the dialog that is to be answered; "" where an action is
	Dialog string   // hash of that dialog
	Yes    string   // names of the choices that approve and deny take
	No     string
	Gate   string // that the answer closes; "" where it is about something else
	// Denied is the action that deny begins; "" where it leaves all as it is.
	Denied string
	// Refused is why nothing may be done, even with approval; Hash is then "".
	Refused string
}

// Key distinguishes asks: what would be done, and for the how many times that was
// answered before. It is "" where there is nothing to answer.
func (a Ask) Key() string {
	if a.Hash == "" {
		return ""
	}
	return a.Hash + "/" + strconv.Itoa(a.Uses)
}

// AnswersFor is the recipient of messages that answer people in a place. No agent
// is called so.
func AnswersFor(place string) string { return "@" + place }
