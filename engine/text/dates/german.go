package dates

// german are the German words that dates are made of, folded: umlauts without points, ß as ss. Spellings with ae, oe and ue
// stand beside them.
var german = language{
	german: true,
	months: [12]string{"januar janner jaenner", "februar", "marz maerz", "april", "mai", "juni", "juli", "august", "september", "oktober",
		"november", "dezember"},
	shortMonths:   [12]string{"jan", "feb", "mrz", "apr", "", "jun", "jul", "aug", "sep sept", "okt", "nov", "dez"},
	nameMonths:    "mai",
	weekdays:      [7]string{"montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag sonnabend", "sonntag"},
	shortWeekdays: [7]string{"mo", "di", "mi", "do", "fr", "sa", "so"},
	seasons:       [4]string{"fruhling fruehling fruhjahr fruehjahr", "sommer sommers", "herbst herbstes", "winter winters"},
	units: [...]string{unitMinute: "minute minuten sekunde sekunden", unitHour: "stunde stunden", unitDay: "tag tage tagen tages",
		unitWeek: "woche wochen", unitWeekend: "wochenende wochenenden wochenendes", unitMonth: "monat monate monaten monats",
		unitQuarter: "quartal quartals quartale", unitHalf: "halfte haelfte", unitYear: "jahr jahre jahren jahres",
		unitDecade: "jahrzehnt jahrzehnten jahrzehnte", unitNight: "nacht"},
	days:     map[int]string{-2: "vorgestern", -1: "gestern", 0: "heute", 1: "morgen", 2: "ubermorgen uebermorgen"},
	dayParts: "morgen fruh frueh vormittag mittag nachmittag abend nacht vormittags mittags nachmittags abends",
	numbers: [13]string{1: "ein eine einem einer einen eins", 2: "zwei", 3: "drei", 4: "vier", 5: "funf fuenf", 6: "sechs", 7: "sieben", 8: "acht",
		9: "neun", 10: "zehn", 11: "elf", 12: "zwolf zwoelf"},
	ordinals: [32]string{1: "erste ersten erster erstes", 2: "zweite zweiten zweiter zweites", 3: "dritte dritten dritter drittes",
		4: "vierte vierten vierter viertes", 5: "funfte funften fuenfte fuenften funfter", 6: "sechste sechsten", 7: "siebte siebten",
		8: "achte achten", 9: "neunte neunten", 10: "zehnte zehnten", 11: "elfte elften", 12: "zwolfte zwolften zwoelften",
		13: "dreizehnten", 14: "vierzehnten", 15: "funfzehnten", 16: "sechzehnten", 17: "siebzehnten", 18: "achtzehnten",
		19: "neunzehnten", 20: "zwanzigsten", 21: "einundzwanzigsten", 22: "zweiundzwanzigsten", 23: "dreiundzwanzigsten",
		24: "vierundzwanzigsten", 25: "funfundzwanzigsten", 26: "sechsundzwanzigsten", 27: "siebenundzwanzigsten",
		28: "achtundzwanzigsten", 29: "neunundzwanzigsten", 30: "dreissigsten", 31: "einunddreissigsten"},
	decades: map[int]string{1950: "funfziger funfzigern", 1960: "sechziger sechzigern", 1970: "siebziger siebzigern",
		1980: "achtziger achtzigern", 1990: "neunziger neunzigern"},
	parts: [...]string{partEarly: "anfang beginn fruhen", partMiddle: "mitte", partLate: "ende spaten"},
	last: "letzte letzten letzter letztes letztem vergangene vergangenen vergangener vergangenes vergangenem vorige vorigen voriger " +
		"voriges vorigem",
	beforeLast: "vorletzte vorletzten vorletzter vorletztes vorletztem",
	this:       "diese diesen dieser dieses diesem",
	next: "nachste nachsten nachster nachstes nachstem naechste naechsten naechster naechstes naechstem kommende kommenden kommender " +
		"kommendes kommendem",
	roles: map[role]string{
		isIn:        "im in wahrend waehrend",
		isOn:        "am vom zum den",
		isLead:      "an zu uber ueber fur fuer um von aus",
		isArticle:   "der die das den dem des",
		isSince:     "seit ab",
		isBefore:    "vor",
		isAfter:     "nach",
		isUntil:     "bis",
		isBetween:   "zwischen",
		isFrom:      "von vom",
		isTo:        "bis",
		isAnd:       "und oder",
		isOf:        "im des vom der um",
		isHalf:      "halben halbes",
		isOnward:    "an",
		isAuxiliary: "ist war hat hatte wird wurde kann konnte will wollte soll sollte",
		isComing:    "kommende kommenden kommender kommendes kommendem",
		isAbout:     "ungefahr ungefaehr etwa circa ca rund",
		isFew:       "paar einigen einige mehreren mehrere wenigen",
		isWeekNo:    "kw kalenderwoche",
		isOwner:     "guten jeden mein meine meinem meiner meinen sein seine seinem seiner seinen ihr ihre ihrem ihrer ihren unser unsere unserem unserer",
		isThing: "menschen leute personen kinder euro dollar franken cent prozent mal schritte worte worter meter metern kilometer " +
			"kalorien punkte seiten spiele zeilen dateien mitglieder teilnehmer gaste stunden minuten tage tagen wochen monate jahre " +
			"tausend millionen stuck stueck mehr",
		isLabel: "seite zimmer raum nummer fehler kostet kostete kosten bezahlt zahlte zahlt gezahlt uber ueber unter etwa rund fast knapp " +
			"als genau nur mindestens hochstens ca ungefahr plus minus ein eine",
		isFunction: "der die das den dem des ein eine einem einer einen und oder aber wenn dass wer wen wem wessen was wann wo warum wie " +
			"hat habe haben hatte hatten ist sind war waren wird wurde wurden ich du er sie es wir ihr ihn mich dich uns mir dir ihm " +
			"mein dein sein in im am an auf bei fur fuer von vom zu zum zur mit uber aus nach vor seit bis zwischen um nicht auch noch " +
			"schon dann so weil als mal denn welche welcher welches welchen gab gibt",
	},
	holidays: []holiday{
		{"silvester", annual{12, 31, 13, 1}}, {"neujahr", annual{1, 1, 1, 2}}, {"neujahrstag", annual{1, 1, 1, 2}},
		{"valentinstag", annual{2, 14, 2, 15}}, {"tag der arbeit", annual{5, 1, 5, 2}}, {"tag der deutschen einheit", annual{10, 3, 10, 4}},
		{"reformationstag", annual{10, 31, 11, 1}}, {"allerheiligen", annual{11, 1, 11, 2}}, {"nikolaustag", annual{12, 6, 12, 7}},
		{"heiligabend", annual{12, 24, 12, 25}}, {"heiligen abend", annual{12, 24, 12, 25}}, {"weihnachten", annual{12, 24, 12, 27}},
		{"weihnachtstage", annual{12, 25, 12, 27}}, {"weihnachtstagen", annual{12, 25, 12, 27}},
	},
}
