"""Why does a JobFlow not get on? The command that tells, from what the API server shows to whoever may read.

`objects` is what is read, `facts` the picture that is made of it; `entries`, `causes`, `signs` and `estimate` judge it,
purely and with the very code that the controller decides by; `answer` puts that together, `text`, `tree` and `document`
say it; `look` reads and `command` is the program.
"""
