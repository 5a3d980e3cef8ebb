package fleet

// Cost is what models cost on one day, for one formula or for one alert.
type Cost struct {
	Day      string `json:"day"`                // YYYY-MM-DD, UTC: of the verdict; of the run's end, or latest change
	Formula  string `json:"formula,omitempty"`  // that ran; its calls are the sessions that were started
	Alert    string `json:"alert,omitempty"`    // rule and subject that a judge was asked about
	Calls    int64  `json:"calls"`              // none for evidence that had been judged before
	Tokens   int64  `json:"tokens"`             // as told by judge and agent
	MicroUSD int64  `json:"micro_usd"`          // millionths of a dollar, of the calls whose price is known
	Unpriced int64  `json:"unpriced,omitempty"` // calls whose price is not known
}
